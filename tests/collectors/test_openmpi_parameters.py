"""Open MPI's parameter files, as a rank sees them. The lines of the system's file are Debian 12's."""

from __future__ import annotations

import pytest
from support.answers import Answers

from ibkit.collectors.openmpi_parameters import Parameter, openmpi_parameters

DEBIAN = (
    "#\n# comments\nbtl_base_warn_component_unused=0\nmtl = ^ofi\nbtl = ^uct,openib,ofi\npml = ^ucx\nosc = ^ucx,pt2pt\n"
)
LIBRARIES = ("/usr/lib/x86_64-linux-gnu/libucp.so.0.0.0", "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4")
HOME = {"HOME": "/home/ann"}


def read(
    files: dict[str, str], environment: dict[str, str] = HOME, libraries: tuple[str, ...] = LIBRARIES
) -> dict[str, tuple[str, str, int]]:
    source = Answers({}, files={f"/proc/7/root{path}": text for path, text in files.items()})
    found = openmpi_parameters(source, 7, libraries, environment)
    return {one.name: (one.value, one.file, one.line) for one in found}


def test_the_users_file_comes_before_the_systems() -> None:
    """As ompi_info of 4.1.4 tells of these two files: btl from the first, pml from the second."""
    found = read(
        {"/home/ann/.openmpi/mca-params.conf": "btl = tcp,self\n", "/etc/openmpi/openmpi-mca-params.conf": DEBIAN}
    )
    assert found["btl"] == ("tcp,self", "/home/ann/.openmpi/mca-params.conf", 1)
    assert found["pml"] == ("^ucx", "/etc/openmpi/openmpi-mca-params.conf", 6)
    assert "osc" not in found


def test_the_environment_and_the_command_line_come_before_files() -> None:
    found = read({"/etc/openmpi/openmpi-mca-params.conf": DEBIAN}, {**HOME, "OMPI_MCA_pml": "ucx"})
    assert "pml" not in found
    assert found["btl"][0] == "^uct,openib,ofi"


def test_an_override_comes_before_all() -> None:
    files = {
        "/opt/ompi/etc/openmpi-mca-params-override.conf": "pml=ob1",
        "/home/ann/.openmpi/mca-params.conf": "pml=ucx",
    }
    found = read(files, {**HOME, "OMPI_MCA_pml": "ucx"}, ("/opt/ompi/lib/libmpi.so.40.40.1",))
    assert found == {"pml": ("ob1", "/opt/ompi/etc/openmpi-mca-params-override.conf", 1)}


def test_a_list_of_files_takes_the_place_of_the_usual_ones() -> None:
    files = {"/site/a.conf": "btl=self,tcp", "/home/ann/.openmpi/mca-params.conf": "btl=self,vader"}
    found = read(files, {**HOME, "OMPI_MCA_mca_base_param_files": "/none.conf,/site/a.conf"})
    assert found == {"btl": ("self,tcp", "/site/a.conf", 1)}


def test_the_last_line_of_a_file_counts() -> None:
    text = 'btl=self\r\n#btl = x\n btl = "tcp,self" \r\n'
    source = Answers({}, files={"/proc/7/root/opt/a/etc/openmpi-mca-params.conf": text})
    (one,) = openmpi_parameters(source, 7, ("/opt/a/lib64/libopen-pal.so.80",), {})
    assert one == Parameter("btl", "tcp,self", "/opt/a/etc/openmpi-mca-params.conf", 3, 'btl = "tcp,self"')


@pytest.mark.parametrize("libraries", [(), ("/usr/lib/libmpich.so.12",), ("/usr/lib/x/libmpi.so.12\n/a",)])
def test_other_mpis_have_none(libraries: tuple[str, ...]) -> None:
    assert read({"/etc/openmpi/openmpi-mca-params.conf": DEBIAN}, libraries=libraries) == {}
