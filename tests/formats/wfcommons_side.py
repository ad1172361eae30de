"""The side of wfcommons: a script for an environment that has it and not bursar.

It reads a JSON list of instances, has wfcommons' own validator and loader take each, and writes
what they found; then it generates instances with wfcommons' recipes. The schema is the one in
wfcommons' cache if there is one, else the file named first: nothing is fetched.
"""

import json
import logging
import sys
from importlib import import_module
from pathlib import Path


def main():
    schema, given, made = map(Path, sys.argv[1:])
    logging.disable(logging.CRITICAL)
    validation = import_module("wfcommons.wfinstances.schema")
    version = import_module("wfcommons.version").__schema_version__
    cached = validation._cache_dir() / f"wfformat-v{version}-{validation.SCHEMA_FILE_NAME}"
    found = [
        judged(path, cached if cached.exists() else schema, validation)
        for path in sorted(given.glob("*.json"))
    ]
    for name, tasks in (("MontageRecipe", 80), ("BlastRecipe", 45), ("EpigenomicsRecipe", 60)):
        recipe = getattr(import_module("wfcommons.wfchef.recipes"), name).from_num_tasks(tasks)
        flow = import_module("wfcommons").WorkflowGenerator(recipe).build_workflow()
        flow.write_json(made / f"{name}.json")
    json.dump(found, sys.stdout)


def judged(path, schema, validation):
    validator = validation.SchemaValidator(schema)
    try:
        validator.validate_instance(json.loads(path.read_text()))
    except RuntimeError as error:
        return {"name": path.name, "errors": [str(error), *validator.errors]}
    instance = import_module("wfcommons").Instance(path, schema_file=str(schema)).workflow
    tasks = instance.tasks
    return {
        "name": path.name,
        "errors": [],
        "edges": sorted(map(list, instance.edges)),
        "runtimes": {name: task.runtime for name, task in tasks.items()},
        "files": {
            file.file_id: file.size
            for task in tasks.values()
            for file in (*task.input_files, *task.output_files)
        },
    }


if __name__ == "__main__":
    main()
