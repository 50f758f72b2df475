"""A test for ReFrame (4.10): does a decision table of colltune still hold?

    reframe -C SITE.py -c colltune.py -S table=/opt/tables/current/table.yaml -r

It runs `colltune check` in a job of each partition; `-S num_tasks=8 -S num_tasks_per_node=2` asks for four nodes.
`colltune check` starts the ranks itself, by the launcher of its MPI library. The test fails if the table does not hold,
and also, with another message, if the library or the machine became slower. Where `colltune check` cannot tell (exit
code 3), as with another version of the MPI library, the test is skipped, or fails with `-S undecided=fail`. Its
performance is the speed-up over the library's default, the geometric mean of the checked points.

A site has one class for each table:

    from colltune import ColltuneCheck

    @rfm.simple_test
    class NightTable(ColltuneCheck):
        folder = '/home/tuning/cluster'
        table = 'tables/night.yaml'
        valid_systems = ['cluster:standard']
        modules = ['openmpi/4.1', 'colltune']
"""

import json
import math
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable

# What the exit codes of `colltune check` say.
HOLDS, WRONG, UNKNOWN, SLOWER_MACHINE = 0, 1, 3, 5
MEANINGS = {
    WRONG: 'the table does not hold',
    UNKNOWN: 'it is not known whether the table holds',
    SLOWER_MACHINE: 'the library or the machine became slower',
}


@rfm.simple_test
class ColltuneCheck(rfm.RunOnlyRegressionTest):
    """Whether a table still holds."""

    #: The folder that the campaign was tuned in: the paths of this test, of the campaign and of the table's store are
    #: relative to it. By default the one in which ReFrame is started.
    folder = variable(str, value='.')
    #: The decision table.
    table = variable(str)
    #: The campaign with the launcher's options; by default the one in the table's store. With a campaign for Slurm or
    #: PBS, `colltune check` submits jobs of its own: set `local` to run it where ReFrame runs.
    campaign = variable(str, value='')
    #: The decisions that are checked: `library`, those in the library's own file, or `colltune`.
    deployment = variable(str, value='library')
    #: The number of points that are measured.
    cells = variable(int, value=12)
    #: The time that measuring may take. The job needs a little more.
    budget = variable(str, value='10m')
    #: Further options of `colltune check`, such as `--no-store`.
    further_options = variable(typ.List[str], value=[])
    #: What happens if it is not known whether the table holds: `skip` or `fail`.
    undecided = variable(str, value='skip')
    #: The `hostfile` of the campaign, if it names one: the job writes its hosts to this file.
    hostfile = variable(str, value='')
    #: The command that prints the hosts of a job.
    list_hosts = variable(str, value='scontrol show hostnames')

    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'colltune'
    num_tasks = 1
    num_tasks_per_node = 1
    exclusive_access = True
    time_limit = '20m'

    @run_after('init')
    def set_command(self):
        self.executable_opts = [
            'check', shlex.quote(self.table), '--deployment', self.deployment, '--cells', str(self.cells),
            '--budget', self.budget, '--json', *self.further_options,
        ]
        if self.campaign:
            self.executable_opts += ['--campaign', shlex.quote(self.campaign)]
        # ReFrame starts each job in a folder of its own, and reads the exit code there.
        self.prerun_cmds += ['own_folder=$PWD', f'cd {shlex.quote(os.path.abspath(self.folder))}']
        if self.hostfile:
            self.prerun_cmds += [f'{self.list_hosts} > {shlex.quote(self.hostfile)}']
        self.postrun_cmds = ['echo $? > "$own_folder/code"', *self.postrun_cmds]

    @run_before('run')
    def leave_starting_ranks_to_colltune(self):
        self.job.launcher = getlauncher('local')()

    @sanity_function
    def table_holds(self):
        code = sn.evaluate(sn.extractsingle(r'^(\d+)$', 'code', 1, int))
        if code == HOLDS:
            return True
        message = MEANINGS.get(code, f'colltune check ended with {code}') + self.describe_reasons()
        if code == UNKNOWN and self.undecided == 'skip':
            self.skip(message)
        return sn.assert_true(False, msg=message)

    @performance_function('x', perf_key='speedup')
    def speedup_over_default(self):
        ratios = [
            point['default_seconds'] / point['seconds']
            for point in self.read_results()['points']
            if point['chosen'] != 'default' and point['default_seconds'] and point['seconds']
        ]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0

    def describe_reasons(self):
        """The points that are wrong or suspect, or why colltune has no results."""
        results = self.read_results()
        if results is None:
            with open(sn.evaluate(self.stderr)) as printed:
                errors = [json.loads(line)['error'] for line in printed if line.startswith('{"error":')]
            return ''.join(f"; {error['message']}; {error['help']}" for error in errors)
        slower = [
            f"; {point['collective']} {point['nodes']}x{point['ppn']} at {point['bytes']} bytes: "
            f"{point['chosen']} takes {finding['ratio']:.2f} x the time of {finding['against']}"
            for point in results['points'] for finding in point['findings']
            if finding['confirmed'] or finding['undecided']
        ]
        failed = [f"; {point['chosen']}: {point['broken']}" for point in results['points'] if point['broken']]
        return ''.join(slower + failed)

    def read_results(self):
        """What `colltune check --json` has printed; None if it has ended with an error."""
        with open(sn.evaluate(self.stdout)) as printed:
            text = printed.read()
        return json.loads(text) if text.strip() else None
