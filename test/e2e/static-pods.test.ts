/** A control plane as static pods of a kubelet, etcd among them: it has what a control plane in one process has. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { etcdMissing } from '../contracts/etcd-server.ts'
import { type ComponentProcess, startComponent } from '../support/component-process.ts'
import { installedKubectls } from '../support/kubectl.ts'
import { layMachines, type Machine, whyNoMachines } from '../support/machines.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const newest = installedKubectls().at(-1)
const whyNot = whyNoMachines() || (etcdMissing ?? (newest === undefined ? 'kubectl is not installed' : false))
const patienceMs = 90_000

describe('a control plane as static pods', { skip: whyNot, timeout: 600_000 }, () => {
  const started = new AsyncDisposableStack()
  let machine: Machine
  let second: Machine
  let kubelet: ComponentProcess
  let auditLog: string

  const inside = (words: readonly string[], where = machine) => {
    const [command = '', ...rest] = [...where.inside, ...words]
    return spawnSync(command, rest, { encoding: 'utf8', timeout: 100_000 })
  }
  const tryKubectl = (args: readonly string[], by = machine) =>
    inside([newest?.path ?? '', '--kubeconfig', join(by.directory, 'admin.kubeconfig'), ...args], by)
  const until = async (what: string, holds: () => string | undefined): Promise<void> => {
    for (const endMs = performance.now() + patienceMs; ; await sleep(200)) {
      const trouble = holds()
      if (trouble === undefined) return
      assert.ok(performance.now() < endMs, `${what}: ${trouble}\n${kubelet.output().slice(-3000)}`)
    }
  }
  /** Said again until it is what is looked for. */
  const untilKubectl = (args: readonly string[], expected: RegExp, by = machine) =>
    until(`kubectl ${args.join(' ')}`, () => {
      const { stdout, stderr } = tryKubectl(args, by)
      return expected.test(stdout) ? undefined : `${stdout}${stderr}`
    })
  const make = (args: readonly string[]) =>
    until(`kubectl ${args.join(' ')}`, () => {
      const { status, stderr } = tryKubectl(args)
      return status === 0 || stderr.includes('(AlreadyExists)') ? undefined : stderr
    })

  before(async () => {
    const lab = started.use(layMachines(2))
    machine = lab.machines[0] ?? assert.fail()
    second = lab.machines[1] ?? assert.fail()
    for (const each of [machine, second])
      started.defer(() => void inside([process.execPath, program, 'reset', '--data-dir', each.directory], each))
    const how = ['--control-plane-as', 'static-pods', '--store', 'etcd', '--runtime', 'embedded', '--listen', machine.address]
    const addons = join(machine.directory, 'addons of users')
    mkdirSync(addons)
    const labels = { 'addonmanager.kubernetes.io/mode': 'Reconcile' }
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'of-a-user', namespace: 'default', labels } }
    writeFileSync(join(addons, 'map.json'), JSON.stringify(map))
    const more = ['--load-balancer-pool', '10.198.77.200-10.198.77.210', '--addons-dir', addons, '--upload-certs']
    // Files that lie elsewhere on the machine, one of them written by the API server.
    const files = join(machine.directory, '..', 'files of the audit')
    mkdirSync(files)
    const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
    writeFileSync(join(files, 'policy.json'), JSON.stringify(policy))
    auditLog = join(files, 'log', 'audit.log')
    const audit = ['--audit-policy-file', join(files, 'policy.json'), '--audit-log-path', auditLog]
    const passed = [...audit, '--service-node-port-range', '31000-31099']
    const words = ['init', ...how, ...more, ...passed, '--data-dir', machine.directory]
    kubelet = started.use(await startComponent(words, /as control planes with: .*--certificate-key [0-9a-f]{64}/, machine.inside))
  })
  after(() => started.disposeAsync())

  test('etcd, the components and the add-ons are pods of the machine, which is a node', async () => {
    await untilKubectl(['wait', '--for=condition=Ready', 'node/machine-0', '--timeout=60s'], /condition met/)
    await untilKubectl(controlPlanePods, podsOf(['machine-0']))
    await untilKubectl(['get', 'configmap', 'typernetes-control-plane', '-n', 'kube-system', '-o', 'yaml'], /etcd-endpoints: https:/)
  })

  test('pods resolve names, usage is measured, and Ingress is served', async () => {
    const overrides = { spec: { terminationGracePeriodSeconds: 0 } }
    await make(['run', 'asking', '--image=host', `--overrides=${JSON.stringify(overrides)}`, '--', 'sleep', '100000'])
    await untilKubectl(['wait', '--for=condition=Ready', 'pod/asking', '--timeout=60s'], /condition met/)
    await untilKubectl(['exec', 'asking', '--', 'getent', 'hosts', 'kubernetes.default.svc.cluster.local'], /10\.96\.0\.1 /)
    await untilKubectl(['top', 'node', 'machine-0'], /machine-0 +\d+m/)
    await make(['create', 'ingress', 'web', '--rule=web.example/*=kubernetes:443'])
    const ask = `fetch('http://${machine.address}/', { headers: { host: 'none.example' } }).then((answer) => console.log(answer.status))`
    await until('Ingress is not served', () => {
      const { stdout, stderr } = inside([process.execPath, '-e', ask])
      return stdout.trim() === '404' ? undefined : `${stdout}${stderr}`
    })
  })

  test('services get addresses and manifests are applied, by a user who may do little else', async () => {
    tryKubectl(['create', 'service', 'loadbalancer', 'balanced', '--tcp=80:80'])
    const address = ['get', 'service', 'balanced', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ip}']
    await untilKubectl(address, /^10\.198\.77\.20\d$/)
    await untilKubectl(['get', 'configmap', 'of-a-user', '-o', 'name'], /of-a-user/)
    assert.match(
      readFileSync(join(machine.directory, 'manifests', 'typernetes-addons.yaml'), 'utf8'),
      /"--kubeconfig=[^"]*\/addons\.kubeconfig"/,
    )
    const may = (...what: string[]) => tryKubectl(['auth', 'can-i', ...what, '--as=typernetes:addons']).stdout.trim()
    assert.equal(may('update', 'services', '-n', 'kube-system'), 'no')
    assert.equal(may('create', 'pods', '-n', 'kube-system'), 'no')
    assert.equal(may('get', 'nodes'), 'yes')
  })

  test('components are told what init was told, and have the files that it names', async () => {
    await make(['create', 'service', 'nodeport', 'by-port', '--tcp=80:80'])
    await untilKubectl(['get', 'service', 'by-port', '-o', 'jsonpath={.spec.ports[0].nodePort}'], /^310\d\d$/)
    await until('no request is in the audit log', () =>
      existsSync(auditLog) && readFileSync(auditLog, 'utf8').includes('"by-port"') ? undefined : auditLog,
    )
  })

  test('a control plane that joins is static pods, too, with a member of etcd that has a vote; reset takes it out again', async () => {
    const [, url = '', token = '', hash = ''] = /join (\S+) --token (\S+) --discovery-hash (\S+)/.exec(kubelet.output()) ?? []
    const [, key = ''] = /--certificate-key (\S+)/.exec(kubelet.output()) ?? []
    const how = ['--token', token, '--discovery-hash', hash, '--control-plane', '--certificate-key', key, '--runtime', 'embedded']
    const words = ['join', url, ...how, '--listen', second.address, '--data-dir', second.directory]
    started.use(await startComponent(words, /has joined the cluster as a control plane/, second.inside))
    await untilKubectl(controlPlanePods, podsOf(['machine-0', 'machine-1']), second)
    await untilKubectl(['get', 'node', 'machine-1', '-o', 'jsonpath={.metadata.labels}'], /node-role.kubernetes.io\/control-plane/)
    const addresses = ['get', 'endpoints', 'kubernetes', '-o', 'jsonpath={.subsets[*].addresses[*].ip}']
    await untilKubectl(addresses, new RegExp(`^${machine.address} ${second.address}$`), second)
    const endpoints = ['get', 'configmap', 'typernetes-control-plane', '-n', 'kube-system', '-o', 'jsonpath={.data.etcd-endpoints}']
    await untilKubectl(endpoints, new RegExp(`^https://${machine.address}:2379,https://${second.address}:2379$`))

    const { status, stdout, stderr } = inside([process.execPath, program, 'reset', '--data-dir', second.directory], second)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /member has left the etcd of the cluster/)
    await until('a process is left', () => processesOf(second)[0])
    await make(['create', 'configmap', 'alone-again'])
  })

  test('the kubelet is gone: the control plane goes on', async () => {
    await kubelet.stop('SIGKILL')
    await make(['create', 'configmap', 'kept'])
  })

  test('reset leaves nothing behind', async () => {
    const { status, stderr } = inside([process.execPath, program, 'reset', '--data-dir', machine.directory])
    assert.equal(status, 0, stderr)
    assert.equal(existsSync(machine.directory), false)
    // Who was killed may take a moment to be gone.
    await until('a process is left', () => processesOf(machine)[0])
  })
})

const columns = '{range .items[*]}{.metadata.name} {.status.phase}{"\\n"}{end}'
const controlPlanePods = ['get', 'pods', '-n', 'kube-system', '-l', 'tier=control-plane', '-o', `jsonpath=${columns}`]
const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'typernetes-addons']

/** All of them run, as kubectl says it, and nothing else. */
const podsOf = (machines: readonly string[]): RegExp =>
  new RegExp(`^${components.flatMap((name) => machines.map((machine) => `${name}-${machine} Running\n`)).join('')}$`)

/** Whatever has the machine's directory in its command line. */
function processesOf({ directory }: Machine): string[] {
  const commandOf = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    } catch {
      return ''
    }
  }
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(directory))
}
