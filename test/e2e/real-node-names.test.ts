/** Names as pods in real containers resolve them, through the service and the proxy of a real node. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { whyNoNetworkWorld } from '../support/network-world.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || whyNoNetworkWorld('nft') || (newest === undefined ? 'kubectl is not installed' : false)
const manifest = (name: string) => readFileSync(join(import.meta.dirname, 'real-node', name), 'utf8')

describe('names on a real node', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl
  const prefix = `10.${190 + (process.pid % 50)}`

  before(async () => {
    cluster = await startRealCluster({ flags: ['--service-cluster-ip-range', `${prefix}.0.0/16`] })
    kubectl = cluster.kubectlAt(newest?.path ?? '')
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
    ok(['wait', '--for=create', 'serviceaccount/default', '--timeout=60s'])
    ok(['create', '-f', '-'], manifest('services.yaml'))
    ok(['create', '-f', '-'], manifest('names.yaml'))
    ok(['wait', '--for=condition=Ready', 'pod/client', 'pod/db-0', '--timeout=90s'])
    ok(['rollout', 'status', 'deployment/web', '--timeout=90s'])
  })
  after(async () => cluster?.[Symbol.asyncDispose]())

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const get = (path: string, ...what: string[]) => ok(['get', ...what, '-o', `jsonpath=${path}`])
  const inClient = (...command: string[]) => kubectl.run(['exec', 'client', '--', ...command])
  const addressOf = (name: string) => {
    const { stdout } = inClient('nslookup', name)
    return /\nName:\s+\S+\nAddress(?: \d+)?:\s+(\S+)/.exec(stdout)?.[1] ?? stdout
  }
  /** The name server hears of an object a moment after whoever made it. */
  const says = (command: readonly string[], expected: RegExp) => {
    const untilMs = systemClock.monotonic() + 60_000
    for (;;) {
      const { stdout, stderr } = inClient(...command)
      if (expected.test(stdout + stderr)) return
      assert.ok(systemClock.monotonic() < untilMs, `${command.join(' ')}: ${stdout}${stderr}`)
    }
  }
  const isFound = (name: string, address: string) => {
    const untilMs = systemClock.monotonic() + 60_000
    for (let found = ''; found !== address; ) {
      found = addressOf(name)
      if (systemClock.monotonic() > untilMs) assert.equal(found, address)
    }
  }

  test('pods are told to ask the usual address, and where to search', () => {
    const text = ok(['exec', 'client', '--', 'cat', '/etc/resolv.conf'])
    assert.match(text, new RegExp(`^nameserver ${prefix}\\.0\\.10$`, 'm'))
    assert.match(text, /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/m)
    assert.equal(get('{.spec.clusterIP}', 'service', 'kube-dns', '-n', 'kube-system'), `${prefix}.0.10`)
  })

  test('services, headless ones, their endpoints and other names for them are found', () => {
    const web = get('{.spec.clusterIP}', 'service', 'web')
    const db = get('{.status.podIP}', 'pod', 'db-0')
    isFound('web.default.svc.cluster.local', web)
    isFound('kubernetes.default.svc.cluster.local', `${prefix}.0.1`)
    isFound('db.default.svc.cluster.local', db)
    isFound('db-0.db.default.svc.cluster.local', db)
    isFound(`${db.replaceAll('.', '-')}.default.pod.cluster.local`, db)
    says(['nslookup', 'alias.default.svc.cluster.local'], new RegExp(`canonical name = web[^]*${web.replaceAll('.', '\\.')}`))
    says(['nslookup', 'nobody.default.svc.cluster.local'], /NXDOMAIN/)
  })

  test('short names are found by the search path', () => {
    // Names with dots are also asked for as they are, which needs name servers outside.
    const web = get('{.spec.clusterIP}', 'service', 'web')
    isFound('web', web)
    // The C library's resolver, as most programs have it: `service`, `service.namespace`, `service.namespace.svc`.
    for (const name of ['web', 'web.default', 'web.default.svc', 'kubernetes.default']) {
      const address = name === 'kubernetes.default' ? `${prefix}.0.1` : web
      says(['ping', '-c', '1', '-W', '1', name], new RegExp(`^PING \\S+ \\(${address.replaceAll('.', '\\.')}\\)`))
    }
    // Endpoints are laid a moment after their pods are ready.
    const ask = 'for i in $(seq 400); do wget -q -O - http://web.default/ && exit 0; sleep 0.2; done'
    assert.match(inClient('sh', '-c', ask).stdout, /^web-/)
  })

  test('the service of the name server is there again after somebody removed it', () => {
    ok(['delete', 'service', 'kube-dns', '-n', 'kube-system'])
    isFound('web', get('{.spec.clusterIP}', 'service', 'web'))
  })

  test('requests by name, without end: the cluster and its name server are killed and started again, and none fails', async () => {
    const askers = 8
    // Who asks for a name gives up after five tries, 25 seconds, and then asks anew: a slow machine may take longer to start again.
    const get = 'RES_OPTIONS=attempts:5 wget -q -O /tmp/got$0 http://web.default/ && break'
    const wasPatient = '[ $(($(date +%s) - t)) -ge 20 ] || { echo refused >> /tmp/failed; break; }'
    const ask = `while :; do t=$(date +%s); ${get}; ${wasPatient}; done; echo >> /tmp/asked`
    const load = `for i in $(seq ${askers}); do sh -c 'while [ ! -e /tmp/end ]; do ${ask}; done; echo >> /tmp/ended' $i & done`
    inClient('sh', '-c', `(${load}) > /dev/null 2>&1 &`)
    await cluster.kill()
    await cluster.start()
    const until = systemClock.monotonic() + 120_000
    while (inClient('nslookup', 'web.default.svc.cluster.local').exitCode !== 0) assert.ok(systemClock.monotonic() < until)
    const done = `[ "$(wc -l < /tmp/ended)" = ${askers} ]`
    const script = `touch /tmp/end /tmp/ended; while ! ${done}; do sleep 0.1; done; wc -l < /tmp/asked; cat /tmp/failed 2>/dev/null`
    const [count, ...failed] = inClient('sh', '-c', script).stdout.trim().split('\n')
    assert.ok(Number(count) >= askers, `${count} requests`)
    assert.deepEqual(failed, [], `of ${count} requests`)
  })

  test('a new configuration in the cluster is in force a moment later', () => {
    const data = 'cluster.local {\n kubernetes\n}\n.:53 {\n hosts {\n 192.0.2.7 printer.office\n fallthrough\n }\n}\n'
    ok(['create', 'configmap', 'coredns', '-n', 'kube-system', `--from-literal=Corefile=${data}`])
    isFound('printer.office', '192.0.2.7')
    ok(['delete', 'configmap', 'coredns', '-n', 'kube-system'])
  })
})
