"""From the files of HPCC's simulator to a report, as the page for its users says."""

import pages

PAGE = pages.ROOT / "docs" / "how-to" / "from-ns3-or-htsim.md"


def test_two_commands_lead_from_hpccs_files_to_a_report(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    pages.follow(PAGE, work, pages.environment(tmp_path / "bin"))
    assert "<html" in (work / "out" / "mine" / "report.html").read_text(encoding="utf-8")
    commands = [block for block in pages.blocks(PAGE) if "run" in block.words]
    assert [len(block.text.splitlines()) for block in commands] == [2]
