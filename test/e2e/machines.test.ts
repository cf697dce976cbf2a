/** Three machines: a cluster on one, joined by two others, whose pods outlive the death of whoever looks after them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ComponentProcess, startComponent } from '../support/component-process.ts'
import { installedKubectls } from '../support/kubectl.ts'
import { layMachines, type Machine, whyNoMachines } from '../support/machines.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const newest = installedKubectls().at(-1)
const whyNot = whyNoMachines() || (newest === undefined ? 'kubectl is not installed' : false)
const token = 'abcdef.0123456789abcdef'

describe('machines that join', { skip: whyNot, timeout: 240_000 }, () => {
  const started = new AsyncDisposableStack()
  let [first, ...others]: Machine[] = []
  let cluster: ComponentProcess
  const nodes: ComponentProcess[] = []

  const run = (machine: Machine, ...args: string[]) => {
    const [command = '', ...rest] = [...machine.inside, process.execPath, program, ...args]
    return spawnSync(command, rest, { encoding: 'utf8', timeout: 100_000 })
  }
  const kubectl = (...args: string[]): string => {
    const machine = first ?? assert.fail()
    const way = [newest?.path ?? '', '--kubeconfig', join(machine.directory, 'admin.kubeconfig')]
    const [command = '', ...rest] = [...machine.inside, ...way, ...args]
    const { status, stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', timeout: 100_000 })
    assert.equal(status, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.output()}\n${nodes.map((node) => node.output()).join('\n')}`)
    return stdout
  }
  const startFirst = async (machine: Machine) => {
    const where = ['--data-dir', machine.directory, '--listen', machine.address, '--runtime', 'none', '--token', token]
    return started.use(await startComponent(['init', ...where], /Other machines join by: .*sha256:[0-9a-f]{64}/, machine.inside))
  }

  before(async () => {
    const lab = started.use(layMachines(3))
    ;[first, ...others] = lab.machines
    const machine = first ?? assert.fail()
    for (const other of others) started.defer(() => void run(other, 'reset', '--data-dir', other.directory))
    cluster = await startFirst(machine)
    const [, url = '', hash = ''] = /join (https:\S+) .*(sha256:[0-9a-f]{64})/.exec(cluster.output()) ?? []
    const refused = run(others[0] ?? machine, 'join', url, '--token', token, '--discovery-hash', `sha256:${'0'.repeat(64)}`)
    assert.match(refused.stderr, /cluster CA found in cluster-info ConfigMap is invalid/)
    for (const other of others) {
      const how = ['--token', token, '--discovery-hash', hash, '--data-dir', other.directory, '--runtime', 'embedded']
      nodes.push(started.use(await startComponent(['join', url, ...how], /The node \S+ is running/, other.inside)))
    }
  })
  after(() => started.disposeAsync())

  test('both are nodes, by certificates that were asked for with the token', () => {
    kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s')
    assert.deepEqual(kubectl('get', 'nodes', '-o', 'name').trim().split('\n'), ['node/machine-1', 'node/machine-2'])
    assert.match(kubectl('get', 'csr'), /kube-apiserver-client-kubelet +system:bootstrap:abcdef .*Approved,Issued/)
    for (const [namespace, name] of [
      ['kube-public', 'cluster-info'],
      ['kube-system', 'kubeadm-config'],
      ['kube-system', 'kubelet-config'],
    ] as const)
      kubectl('get', 'configmap', name, '-n', namespace)
  })

  test('a Deployment runs on both, its pods reach each other and are reached as a service', async () => {
    const serve = '$s=IO::Socket::INET->new(LocalPort=>8080,Listen=>9,ReuseAddr=>1)or die; while($c=$s->accept){print $c "here\n";close $c}'
    kubectl('create', 'deployment', 'web', '--image=host', '--replicas=2', '--', 'perl', '-MIO::Socket::INET', '-e', serve)
    kubectl('rollout', 'status', 'deployment/web', '--timeout=90s')
    kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080')
    const columns = '{range .items[*]}{.metadata.name} {.spec.nodeName} {.status.podIP}{"\\n"}{end}'
    const pods = kubectl('get', 'pods', '-o', `jsonpath=${columns}`)
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
    assert.deepEqual(pods.map(([, node]) => node).sort(), ['machine-1', 'machine-2'])
    const service = kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')
    const targets = [...pods.map(([, , ip]) => [ip ?? '', '8080'] as const), [service, '80'] as const]
    for (const [name = ''] of pods) {
      for (const [host, port] of targets) {
        // A process may listen, and rules may be laid, a moment after a pod is said to run.
        const ask = `for i in $(seq 300); do (exec 3<>/dev/tcp/${host}/${port} && cat <&3) 2>/dev/null && exit; sleep 0.2; done`
        assert.equal(kubectl('exec', name, '--', 'bash', '-c', ask).trim(), 'here', `${name} to ${host}`)
      }
    }
  })

  test('with the first machine dead pods run on; when it is back so is the cluster, and a killed node takes its pods over', async () => {
    const before = kubectl('get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}')
    await cluster.stop('SIGKILL')
    await nodes[0]?.stop('SIGKILL')
    cluster = await startFirst(first ?? assert.fail())
    const [other = assert.fail()] = others
    // It has joined already: nothing need be said of the cluster.
    nodes[0] = started.use(
      await startComponent(['join', '--data-dir', other.directory, '--node-name', other.name], /The node \S+ is running/, other.inside),
    )
    kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s')
    kubectl('scale', 'deployment/web', '--replicas=3')
    kubectl('rollout', 'status', 'deployment/web', '--timeout=90s')
    const after = kubectl('get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}').split(' ')
    for (const uid of before.split(' ')) assert.ok(after.includes(uid), 'a pod was made anew')
    assert.doesNotMatch(kubectl('get', 'pods', '-o', 'jsonpath={.items[*].status.containerStatuses[0].restartCount}'), /[1-9]/)
  })

  test('reset leaves nothing of a node behind', async () => {
    const [other = assert.fail()] = others
    const { status, stdout, stderr } = run(other, 'reset', '--data-dir', other.directory)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /is no node any more/)
    for (let tries = 0; nodes[0]?.child.exitCode === null && tries < 600; tries++) await sleep(100)
    const [command = '', ...rest] = [...other.inside, 'ip', '-brief', 'link']
    assert.doesNotMatch(spawnSync(command, rest, { encoding: 'utf8' }).stdout, /cni0/)
  })
})
