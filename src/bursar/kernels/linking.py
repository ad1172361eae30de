"""Parts of kernels are linked into the kernel that calls them, and compiled with it alone.

Left to itself, numba optimises each part with all that it calls, makes machine code of it, and then
does the same for whatever calls it: a part four calls deep is optimised five times, and nobody ever
calls the first four. That is half of the time of a first compilation. The results are the same.

This looks into numba, which promises nothing of it: where it looks different, all is compiled as
numba does it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

NEEDED: Final = ("_get_module_for_linking", "_finalize_final_module", "add_linking_library")
"""of a code library, if parts are to be linked"""


def no_code(*_: object) -> Any:
    """In the place of a part's machine code: a built-in function, as numba wants it, and unique."""
    return [].append


@cache
def part_options() -> dict[str, Any]:
    """Options for the parts of kernels, beside those of all code."""
    from numba.core.codegen import JITCodeLibrary

    if not all(hasattr(JITCodeLibrary, name) for name in NEEDED):
        return {}
    return {"pipeline_class": _part_compiler(JITCodeLibrary)}


def _part_compiler(library_class: Any) -> Any:
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import PassManager, register_pass
    from numba.core.typed_passes import NativeLowering

    class PartLibrary(library_class):  # type: ignore[misc]
        """The code of a part and of what it calls, as it was lowered."""

        def finalize(self) -> None:
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
    class PartLowering(NativeLowering):
        _name = "part_lowering"

        def run_pass(self, state: Any) -> bool:
            context = state.targetctx
            state.library = PartLibrary(context.codegen(), state.func_id.func_qualname)
            context.get_executable = no_code
            try:
                return bool(super().run_pass(state))  # type: ignore[no-untyped-call]
            finally:
                del context.get_executable

    class PartCompiler(CompilerBase):
        def define_pipelines(self) -> list[PassManager]:
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
            manager.passes = [
                (PartLowering if step is NativeLowering else step, why)
                for step, why in manager.passes
            ]
            manager.finalize()
            return [manager]

    return PartCompiler
