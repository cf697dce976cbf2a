/**
 * Three machines with an etcd each, whose clocks are minutes apart: a cluster on one, joined by a second control plane and by a node, and
 * by a third control plane that is no node. Each of the three dies once and comes back; the cluster, which is of the version before, is
 * upgraded, saved, and brought to life again on machines that were empty, with an etcd of its own that loses a member for good.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { etcdctlMissing, etcdMissing } from '../contracts/etcd-server.ts'
import { type ComponentProcess, startComponent } from '../support/component-process.ts'
import { type EtcdMembers, startEtcdMembers } from '../support/etcd-members.ts'
import { installedKubectls } from '../support/kubectl.ts'
import { layMachines, type Machine, whyNoMachines } from '../support/machines.ts'
import { layOtherVersion, type OtherVersion } from '../support/other-version.ts'
import { testSameEverywhere } from '../support/same-everywhere.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const newest = installedKubectls().at(-1)
const whyNot = whyNoMachines() || (etcdMissing ?? etcdctlMissing) || (newest === undefined ? 'kubectl is not installed' : false)
const token = 'abcdef.0123456789abcdef'
const certificateKey = '0123456789abcdef'.repeat(4)
const patienceMs = 120_000
/** Of the second and the third machine, from that of the first. */
const clockSkewMs = { 'machine-1': -3 * 60_000, 'machine-2': 4 * 60_000 }

const thirdControlPlane = 5
const thirdMember = 6
const versionBefore = 'v1.35.9'

type Running = { component: ComponentProcess; start: () => Promise<ComponentProcess> }

describe('machines that join', { skip: whyNot, timeout: 600_000 }, () => {
  const started = new AsyncDisposableStack()
  let machines: readonly Machine[] = []
  let etcd: EtcdMembers
  let before135: OtherVersion
  /** By the number of the machine: what it has installed. */
  const isUpgraded = new Set<number>()
  /** By the number of the machine. */
  const running: Running[] = []

  const at = (index: number): Machine => machines[index] ?? assert.fail()
  const inside = (index: number, words: readonly string[], input?: string) => {
    const [command = '', ...rest] = [...at(index).inside, ...words]
    return spawnSync(command, rest, { encoding: 'utf8', timeout: 100_000, ...(input !== undefined && { input }) })
  }
  const run = (index: number, ...args: string[]) => inside(index, [process.execPath, program, ...args])
  /** By the control plane that is asked just now. */
  let asked = 0
  const tryKubectl = (args: readonly string[], input?: string) =>
    inside(asked, [newest?.path ?? '', '--kubeconfig', join(at(asked).directory, 'admin.kubeconfig'), ...args], input)
  const logs = () => running.map(({ component }, index) => `${at(index).name}: ${component.output().slice(-3000)}`).join('\n')
  const kubectl = (...args: string[]): string => {
    const { status, stdout, stderr } = tryKubectl(args)
    assert.equal(status, 0, `kubectl ${args.join(' ')}: ${stderr}\n${logs()}`)
    return stdout
  }
  /** Again until it succeeds: while etcd looks for another leader, a request may be refused. What a refused one has made all the same is there. */
  const eventually = async (...args: string[]): Promise<string> => {
    let answer = ''
    await until(`kubectl ${args.join(' ')}`, () => {
      const { status, stdout, stderr } = tryKubectl(args)
      said = stderr
      answer = stdout
      return status === 0 || /\(AlreadyExists\)/.test(stderr)
    })
    return answer
  }
  const untilSays = (args: string[], expected: RegExp | string) =>
    until(`kubectl ${args.join(' ')}`, () => {
      const { stdout, stderr } = tryKubectl(args)
      said = `${stdout}${stderr}`
      return typeof expected === 'string' ? stdout === expected : expected.test(stdout)
    })
  /** `said` is what was said last where it does not come true. */
  let said = ''
  const until = async (what: string, holds: () => boolean): Promise<void> => {
    for (const endMs = performance.now() + patienceMs; !holds(); await sleep(200))
      assert.ok(performance.now() < endMs, `${what}: ${said}\n${logs()}`)
  }

  const begin = async (index: number, args: readonly string[], isRunning: RegExp) => {
    const start = () => {
      const words = [...args, '--data-dir', at(index).directory]
      if (isUpgraded.has(index)) return startComponent(words, isRunning, withSkew(at(index)))
      return startComponent(words, isRunning, [...withSkew(at(index)), ...before135.environment], before135.program)
    }
    running[index] = { component: started.use(await start()), start }
  }
  const beginAgain = async (index: number) => {
    const { start } = running[index] ?? assert.fail()
    running[index] = { component: started.use(await start()), start }
  }
  const joinCommandOf = (index: number): string[] => {
    const [, url = '', hash = ''] = /join (https:\S+) .*(sha256:[0-9a-f]{64})/.exec(running[index]?.component.output() ?? '') ?? []
    return ['join', url, '--token', token, '--discovery-hash', hash, '--runtime', 'embedded']
  }
  const asControlPlane = (index: number) => ['--control-plane', '--certificate-key', certificateKey, '--listen', at(index).address]
  const initAt = (index: number, store: string) => {
    const offers = ['--token', token, '--upload-certs', '--certificate-key', certificateKey]
    return ['init', '--listen', at(index).address, '--runtime', 'none', '--store', store, ...offers]
  }
  const initialized = /Other machines join by: .*sha256:[0-9a-f]{64}/
  const isControlPlane = /joined the cluster as a control plane/
  const isNode = /The node \S+ is running/

  /** A process may listen, and rules may be laid, a moment after a pod is said to run; machines that died are called in vain for a while. */
  const ask = (host: string, port: string) =>
    `for i in $(seq 300); do (exec 3<>/dev/tcp/${host}/${port} && cat <&3) 2>/dev/null && exit; sleep 0.2; done`
  const answers = (from: string, host: string, port: string) => {
    const { status, stdout, stderr } = tryKubectl(['exec', from, '--', 'timeout', '5', 'bash', '-c', ask(host, port)])
    said = `exit code ${status}: ${stdout}${stderr}`
    return stdout.trim() === 'here'
  }
  const podOn = async (name: string, node: string) => {
    const overrides = { spec: { nodeSelector: { 'kubernetes.io/hostname': node }, terminationGracePeriodSeconds: 0 } }
    await eventually('run', name, '--image=host', `--overrides=${JSON.stringify(overrides)}`, '--', 'sleep', '100000')
    await until(`the pod ${name} does not start`, () => {
      const { stdout, stderr } = tryKubectl(['get', 'pod', name, '-o', 'jsonpath={.status}'])
      said = `${stdout}${stderr}`
      return /"Ready","status":"True"|"status":"True","type":"Ready"/.test(stdout)
    })
  }
  const service = () => eventually('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')

  before(async () => {
    before135 = started.use(layOtherVersion(versionBefore))
    // Three of them are switched on at the end.
    const lab = started.use(layMachines(7))
    for (const index of [3, 4, thirdMember]) isUpgraded.add(index)
    machines = lab.machines
    for (const [index, { directory }] of machines.entries())
      started.defer(() => void run(index, ...(index === 0 ? ['delete'] : ['reset']), '--data-dir', directory))
    etcd = started.use(await startEtcdMembers(machines.slice(0, 3)))
    // Kubelets speak every 10 s.
    const impatient = ['--node-monitor-grace-period', '30s', '--node-monitor-period', '1s']
    await begin(0, [...initAt(0, etcd.store), ...impatient], initialized)
    const [join = '', url = '', ...how] = joinCommandOf(0)
    const wrong = how.map((word) => (word.startsWith('sha256:') ? `sha256:${'0'.repeat(64)}` : word))
    assert.match(run(1, join, url, ...wrong).stderr, /cluster CA found in cluster-info ConfigMap is invalid/)
    await begin(1, [...joinCommandOf(0), ...asControlPlane(1)], isControlPlane)
    const withoutNode = joinCommandOf(0).map((word) => (word === 'embedded' ? 'none' : word))
    await Promise.all([
      begin(2, joinCommandOf(0), isNode),
      begin(thirdControlPlane, [...withoutNode, ...asControlPlane(thirdControlPlane)], isControlPlane),
    ])
  })
  after(() => started.disposeAsync())

  test('both are nodes, by certificates that were asked for with the token', async () => {
    await untilSays(['get', 'nodes', '-o', 'name'], 'node/machine-1\nnode/machine-2\n')
    kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=90s')
    // Taints go a moment after the condition, and nothing is placed on a node until then.
    await untilSays(['get', 'nodes', '-o', 'jsonpath={.items[*].spec.taints}'], '')
    await untilSays(['get', 'csr'], /kube-apiserver-client-kubelet +system:bootstrap:abcdef .*Approved,Issued/)
    for (const [namespace, name] of [
      ['kube-public', 'cluster-info'],
      ['kube-system', 'kubeadm-config'],
      ['kube-system', 'kubelet-config'],
    ] as const)
      kubectl('get', 'configmap', name, '-n', namespace)
  })

  test('a Deployment runs on both, its pods reach each other and are reached as a service', async () => {
    const serve =
      '$SIG{TERM}=sub{exit}; $s=IO::Socket::INET->new(LocalPort=>8080,Listen=>9,ReuseAddr=>1)or die; while($c=$s->accept){print $c "here\n";close $c}'
    kubectl('create', 'deployment', 'web', '--image=host', '--replicas=2', '--', 'perl', '-MIO::Socket::INET', '-e', serve)
    kubectl('rollout', 'status', 'deployment/web', '--timeout=90s')
    kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080')
    const columns = '{range .items[*]}{.metadata.name} {.spec.nodeName} {.status.podIP}{"\\n"}{end}'
    const pods = kubectl('get', 'pods', '-o', `jsonpath=${columns}`)
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
    assert.deepEqual(pods.map(([, node]) => node).sort(), ['machine-1', 'machine-2'])
    const targets = [...pods.map(([, , ip]) => [ip ?? '', '8080'] as const), [await service(), '80'] as const]
    for (const [name = ''] of pods)
      for (const [host, port] of targets)
        assert.equal(kubectl('exec', name, '--', 'bash', '-c', ask(host, port)).trim(), 'here', `${name} to ${host}`)
  })

  test('clocks that are minutes apart do no harm, and are told of', async () => {
    await until('no word of the clocks', () => {
      said = run(0, 'status', '--data-dir', at(0).directory).stdout
      // Ahead of the control plane that it speaks to just now.
      return /machine-2: its clock is [47] minutes ahead/.test(said)
    })
  })

  test('three control planes serve the cluster', async () => {
    const addresses = [0, 1, thirdControlPlane].map((index) => at(index).address).sort()
    await until('the service kubernetes does not know them', () => {
      said = tryKubectl(['get', 'endpoints', 'kubernetes', '-o', 'jsonpath={.subsets[*].addresses[*].ip}']).stdout
      return said.split(' ').sort().join(' ') === addresses.join(' ')
    })
  })

  testSameEverywhere(test, (args, input) => {
    asked = thirdControlPlane
    const { status, stdout, stderr } = tryKubectl(args, input)
    asked = 0
    return { exitCode: status ?? 1, stdout, stderr }
  })

  for (const dead of [0, 1, 2]) {
    test(`machine-${dead} dies: nothing that was acknowledged is lost, the service answers, pods start; and it comes back`, async () => {
      for (const each of ['first', 'second'])
        kubectl('create', 'configmap', `before-${dead}-${each}`, `--from-literal=by=${at(asked).name}`)
      const written = kubectl('get', 'configmap', '-o', 'name')
      at(dead).die()
      await etcd.kill(dead)
      await running[dead]?.component.stop('SIGKILL')
      asked = dead === 0 ? 1 : 0
      await until('no control plane answers', () => tryKubectl(['get', '--raw', '/readyz']).status === 0)
      assert.equal(await eventually('get', 'configmap', '-o', 'name'), written)
      await podOn(`after-${dead}`, dead === 2 ? 'machine-1' : 'machine-2')
      const address = await service()
      await until('the service does not answer', () => answers(`after-${dead}`, address, '80'))
      await eventually('create', 'configmap', `while-${dead}`)
      at(dead).boot()
      await etcd.start(dead)
      await beginAgain(dead)
      asked = dead === 2 ? 0 : dead
      assert.match(await eventually('get', 'configmap', '-o', 'name'), new RegExp(`while-${dead}`))
      await eventually('wait', '--for=condition=Ready', 'node', '--all', '--timeout=90s')
      await eventually('rollout', 'status', 'deployment/web', '--timeout=90s')
      asked = 0
    })
  }

  test('from one minor version to the next: planned, control planes first, a node drained and used again; nothing is lost', async () => {
    const written = kubectl('get', 'configmap', '-o', 'name')
    const kubelets = ['get', 'nodes', '-o', 'jsonpath={.items[*].status.nodeInfo.kubeletVersion}']
    await untilSays(kubelets, `${versionBefore} ${versionBefore}`)
    const plan = run(0, 'upgrade', 'plan', '--data-dir', at(0).directory)
    assert.equal(plan.status, 0, plan.stderr)
    assert.match(plan.stdout, /cluster \(kubeadm-config\) +v1\.35\.9 +v1\.36.*API server +v1\.35\.9\S* +v1\.36/s)
    assert.match(plan.stdout, /kubelet \(control plane\) +machine-1 +v1\.35\.9 +v1\.36.*upgrade node, .*: machine-1, machine-2/s)
    assert.match(run(2, 'upgrade', 'node', '--data-dir', at(2).directory).stderr, /the cluster is at v1\.35\.9.*upgrade apply/)

    const upgrade = async (index: number, words: readonly string[], isDone: RegExp) => {
      isUpgraded.add(index)
      const again = startAgainOnce(running[index] ?? assert.fail())
      const command = ['upgrade', ...words, '--data-dir', at(index).directory]
      const upgrading = started.use(await startComponent(command, isDone, withSkew(at(index))))
      running[index] = { ...(running[index] ?? assert.fail()), component: started.use(await again) }
      return upgrading.output()
    }
    await upgrade(0, ['apply'], /The cluster is at v1\.36/)
    assert.match(await eventually('get', '--raw', '/version'), /"gitVersion": ?"v1\.36/)
    assert.match(await eventually('get', 'configmap', 'kubeadm-config', '-n', 'kube-system', '-o', 'yaml'), /kubernetesVersion.*v1\.36/)
    await Promise.all([1, thirdControlPlane].map((index) => upgrade(index, ['node', '--force'], new RegExp(`machine-${index} runs v1`))))
    await untilSays(kubelets, /^v1\.36\.\d+ v1\.35\.9$/)
    assert.match(await upgrade(2, ['node', '--force'], /machine-2 runs v1/), /Evicting pod default\/web/)
    await untilSays(kubelets, /^v1\.36\.\d+ v1\.36\.\d+$/)
    assert.equal(await eventually('get', 'node', 'machine-2', '-o', 'jsonpath={.spec.unschedulable}'), '')
    await eventually('rollout', 'status', 'deployment/web', '--timeout=90s')
    assert.equal(await eventually('get', 'configmap', '-o', 'name'), written)
    const back = inside(0, [
      ...before135.environment,
      process.execPath,
      before135.program,
      'upgrade',
      'plan',
      '--data-dir',
      at(0).directory,
    ])
    assert.equal(back.status, 1)
    assert.match(back.stdout, /going back to v1\.35\.9 is not possible/)
  })

  test('reset leaves nothing of a node behind', async () => {
    const { status, stdout, stderr } = run(2, 'reset', '--data-dir', at(2).directory)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /is no node any more/)
    const { child } = running[2]?.component ?? assert.fail()
    await until('the process has not ended', () => child.exitCode !== null || child.signalCode !== null)
    await until('its bridge is left', () => {
      said = inside(2, ['ip', '-brief', 'link']).stdout
      return said !== '' && !said.includes('cni0')
    })
  })

  test('all machines are lost: a snapshot and the keys make the cluster anew on empty ones, with an etcd of their own that grows and shrinks', async () => {
    const snapshot = join(at(3).directory, 'cluster.snap')
    const saved = run(0, 'snapshot', 'save', snapshot, '--store', etcd.store)
    assert.match(saved.stdout, /saved .*\d+ keys/s, saved.stderr)
    const written = kubectl('get', 'configmap', '-o', 'name')
    cpSync(join(at(0).directory, 'pki'), join(at(3).directory, 'pki'), { recursive: true })
    for (const index of [0, 1, 2, thirdControlPlane]) at(index).die()
    await Promise.all(running.map(({ component }) => component.stop('SIGKILL')))

    const where = ['--store', 'etcd', '--listen', at(3).address, '--data-dir', at(3).directory]
    const restored = run(3, 'snapshot', 'restore', snapshot, ...where)
    assert.match(restored.stdout, /restored into etcd .*\d+ keys/s, restored.stderr)
    await begin(3, initAt(3, 'etcd'), initialized)
    asked = 3
    assert.equal(await eventually('get', 'configmap', '-o', 'name'), written)
    const [, ...how] = joinCommandOf(3)
    const withoutNode = how.map((word) => (word === 'embedded' ? 'none' : word))
    await begin(4, ['join', ...how, ...asControlPlane(4)], isControlPlane)
    // etcd waits for five seconds before it takes in the next: that goes on beside the rest.
    const joining = begin(thirdMember, ['join', ...withoutNode, ...asControlPlane(thirdMember)], isControlPlane)
    const members = (by: number) => {
      const pki = (file: string) => `'${join(at(by).directory, 'pki', file)}'`
      const credentials = `--cacert ${pki('etcd-ca.crt')} --cert ${pki('etcd-client.pem')} --key ${pki('etcd-client.pem')}`
      return inside(by, ['env', 'ETCDCTL_API=3', 'sh', '-c', `etcdctl ${credentials} member list`])
        .stdout.trim()
        .split('\n')
        .sort()
    }
    /** A member says its name a moment after it was taken in. */
    const untilMembers = (by: number, ...names: string[]) =>
      until('the members of etcd are others', () => {
        const lines = members(by)
        said = lines.join('\n')
        const found = lines.flatMap((line) => /started, (\S+), .*, false$/.exec(line)?.[1] ?? [])
        return found.sort().join() === names.join()
      })
    // etcd takes in another member meanwhile, and may have no leader for a moment.
    await eventually('delete', 'node', 'machine-1', 'machine-2', '--ignore-not-found')
    // Nobody will ever say that they have ended; without a word the cluster waits a minute.
    await eventually('delete', 'pod', '--all', '--force', '--grace-period=0')
    await eventually('wait', '--for=condition=Ready', 'node/machine-4', '--timeout=90s')
    await eventually('rollout', 'status', 'deployment/web', '--timeout=90s')
    await podOn('anew', 'machine-4')
    const address = await service()
    await until('the service does not answer', () => answers('anew', address, '80'))

    await joining
    await untilMembers(3, 'machine-3', 'machine-4', 'machine-6')
    // Written by the one that came last; then the first is lost, with its disk.
    asked = thirdMember
    await eventually('create', 'configmap', 'by-the-last')
    at(3).die()
    await running[3]?.component.stop('SIGKILL')
    asked = 4
    await until('no control plane answers', () => tryKubectl(['get', '--raw', '/readyz']).status === 0)
    const there = (await eventually('get', 'configmap', '-o', 'name')).split('\n')
    assert.deepEqual(
      [...written.split('\n'), 'configmap/by-the-last'].filter((name) => !there.includes(name)),
      [],
    )
    await eventually('create', 'configmap', 'by-two-of-three')

    // It is replaced by one of the same name and address that knows nothing.
    rmSync(at(3).directory, { recursive: true, maxRetries: 20 })
    mkdirSync(at(3).directory)
    at(3).boot()
    const elsewhere = withoutNode.map((word) => word.replace(at(3).address, at(4).address))
    await begin(3, ['join', ...elsewhere, ...asControlPlane(3)], isControlPlane)
    await untilMembers(4, 'machine-3', 'machine-4', 'machine-6')
    asked = 3
    assert.match(await eventually('get', 'configmap', '-o', 'name'), /by-the-last\nconfigmap\/by-two-of-three/)

    const left = run(4, 'reset', '--data-dir', at(4).directory)
    assert.match(left.stdout, /member has left the etcd of the cluster/, left.stderr)
    await untilMembers(3, 'machine-3', 'machine-6')
    await eventually('create', 'configmap', 'without-it')
  })
})

/** As systemd would. */
function startAgainOnce({ component, start }: Running): Promise<ComponentProcess> {
  return new Promise((resolve, reject) => {
    component.child.once('exit', () => start().then(resolve, reject))
  })
}

/** The machine's clock, as far as the program can see it. */
function withSkew({ name, inside }: Machine): string[] {
  const skewMs = clockSkewMs[name as keyof typeof clockSkewMs]
  if (skewMs === undefined) return [...inside]
  const source = `const D=Date,n=D.now.bind(D);globalThis.Date=class extends D{constructor(...a){a.length?super(...a):super(n()+${skewMs})}static now(){return n()+${skewMs}}}`
  return [...inside, 'env', `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(source)}`]
}
