//! The standard normal distribution: its CDF and the inverse of it.

use std::f64::consts::SQRT_2;

/// The probability of a value below `x`.
pub fn cdf(x: f64) -> f64 {
    libm::erfc(-x / SQRT_2) / 2.0
}

/// The value that is exceeded with probability 1 - `p`; minus infinity for 0, infinity for 1.
///
/// PPND16 of Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
/// Statistics 37 (1988): relative error about 1e-16.
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180625 - q * q, &CENTRE);
    }
    let tail = p.min(1.0 - p);
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = libm::sqrt(-libm::log(tail));
    let x = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &TAIL) };
    x.copysign(q)
}

/// Coefficients of a rational function, the constant terms first: numerator, denominator.
type Ratio = [[f64; 8]; 2];

fn ratio(x: f64, [above, below]: &Ratio) -> f64 {
    let polynomial = |terms: &[f64; 8]| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
    polynomial(above) / polynomial(below)
}

const CENTRE: Ratio = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

const MIDDLE: Ratio = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const TAIL: Ratio = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_as_tabled() {
        // Test values of AS 241, and the 5 % and 1 % points of every table.
        let tabled = [
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_813_5),
            (1e-20, -9.262_340_089_798_408),
            (0.975, 1.959_963_984_540_054),
            (0.995, 2.575_829_303_548_901),
        ];
        for (p, expected) in tabled {
            assert!((quantile(p) / expected - 1.0).abs() < 2e-15, "{p}: {}", quantile(p));
        }
        assert_eq!((quantile(0.5), quantile(0.0), quantile(1.0)), (0.0, -f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn quantile_and_cdf_are_inverse() {
        for step in 1..4000 {
            let p = f64::from(step) / 4000.0;
            assert!((cdf(quantile(p)) - p).abs() < 1e-15, "{p}");
        }
        for tail in 1..300 {
            let p = libm::pow(10.0, -f64::from(tail));
            assert!((cdf(quantile(p)) / p - 1.0).abs() < 1e-11, "{p}");
        }
    }
}
