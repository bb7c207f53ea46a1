"""What --logs keeps."""
import os
import shutil

from harness.namespaces import WORK


def keep_logs(folder, history):
    """And the history, where there is one: a change a line."""
    os.makedirs(folder, exist_ok=True)
    for log in WORK.glob("**/*.log"):
        shutil.copy(log, folder)
    if history:
        with open(f"{folder}/history.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{change}\n" for change in history.changes)
