/** `typernetes proxy` as users run it: against an API server, with real connections through what it lays. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { NetworkWorld, whyNoNetworkWorld } from '../support/network-world.ts'

const main = join(import.meta.dirname, '..', '..', 'src/cmd/main.ts')
const allowedMs = 60_000
/** A connection that was begun before its rules were laid leads nowhere. */
const askedAgainMs = 20_000

/** Runs a command of ours on the node, and resolves when it has printed the word. */
async function start(world: NetworkWorld, args: readonly string[], word: string): Promise<ChildProcess> {
  const child = spawn('ip', ['netns', 'exec', world.namespace('node'), process.execPath, main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      if (output.includes(word)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}:\n${output}`)))
  })
  return child
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

test('a proxy of its own makes services work, goes and comes back unnoticed, and cleans up', {
  skip: whyNoNetworkWorld('nft', 'conntrack'),
}, async () => {
  await using world = await NetworkWorld.start({ pods: ['a', 'b', 'c'] })
  const directory = mkdtempSync(join(tmpdir(), 'tn proxy '))
  let cluster: ChildProcess | undefined
  let proxy: ChildProcess | undefined
  try {
    const kubeconfig = join(directory, 'admin.kubeconfig')
    const up = ['up', '--data-dir', directory, '--runtime', 'none', '--store', 'memory', '--scheduler=false', '--controllers=-*']
    cluster = await start(world, up, 'The cluster is ready')
    const flags = ['--kubeconfig', kubeconfig, '--hostname-override', 'n1', '--cluster-cidr', '10.244.0.0/16,fd44::/16']
    const run = () =>
      start(world, ['proxy', ...flags, '--iptables-min-sync-period=20ms', '--bind-address=192.0.2.1'], 'kube-proxy is running')
    proxy = await run()
    for (const pod of ['b', 'c']) await world.tell(pod, { op: 'listen', protocol: 'TCP', port: 8080 })
    const service = await world.tell<V1Service>('node', {
      ...{ op: 'apply', kubeconfig, kind: 'Service' },
      object: {
        metadata: { namespace: 'default', name: 'web' },
        spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 80, targetPort: 8080 }] },
      },
    })
    const ip = service.spec?.clusterIP ?? ''
    const endpoints = (...pods: string[]) =>
      world.tell('node', {
        ...{ op: 'apply', kubeconfig, kind: 'EndpointSlice' },
        object: {
          metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
          ...{ addressType: 'IPv4', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
          endpoints: pods.map((pod) => ({ addresses: [world.podIp(pod)], nodeName: 'n1', conditions: { ready: true } })),
        },
      })
    const ask = (host = ip, port = 80, from = 'a') => world.tell(from, { op: 'ask', protocol: 'TCP', host, port, timeoutMs: askedAgainMs })
    /** Changes arrive by the API: until then the old answer is right. */
    const until = async (wanted: RegExp, look: () => Promise<string>) => {
      for (;;) if (wanted.test(await look().catch(String))) return
    }
    await endpoints('b', 'c')
    await until(/^[bc] /, ask)

    // Killed, not asked to end; what it laid goes on, and the next one takes over.
    await world.tell('a', { op: 'load', host: ip, port: 80, timeoutMs: allowedMs })
    assert.match(await world.tell('c', { op: 'hold', host: ip, port: 80, timeoutMs: allowedMs }), /^[bc] /)
    await end(proxy, 'SIGKILL')
    proxy = await run()
    await endpoints('b')
    await until(/^b 192/, () => ask('192.0.2.1', service.spec?.ports?.[0]?.nodePort ?? 0, 'far'))
    const counts = await world.tell<Record<string, number>>('a', { op: 'endLoad' })
    assert.deepEqual(
      Object.keys(counts).filter((answer) => !/^[bc] /.test(answer)),
      [],
      'no connection failed',
    )
    assert.equal(await world.tell('c', { op: 'prod' }), 'still there')

    type Answer = { status: number; body: string; headers: Record<string, string> }
    const get = (url: string, from = 'node') => world.tell<Answer>(from, { op: 'get', url })
    const health = () => get(`http://192.0.2.1:${service.spec?.healthCheckNodePort}/`, 'far')
    // While both were endpoints the answer above may have come from b as well, by what the killed one has laid: nobody may listen here yet.
    const weight = async () => (await health()).headers['x-load-balancing-endpoint-weight'] ?? ''
    await until(/^1$/, weight)
    const asked = await health()
    assert.equal(asked.status, 200)
    assert.deepEqual(JSON.parse(asked.body), {
      service: { namespace: 'default', name: 'web' },
      localEndpoints: 1,
      serviceProxyHealthy: true,
    })
    const metrics = await get('http://127.0.0.1:10249/metrics')
    for (const name of [
      'sync_proxy_rules_duration_seconds_count',
      'sync_proxy_rules_service_changes_total',
      'sync_proxy_rules_last_timestamp_seconds',
    ]) {
      assert.match(metrics.body, new RegExp(`^kubeproxy_${name}`, 'm'))
    }
    assert.equal((await get('http://127.0.0.1:10249/proxyMode')).body, 'nftables')
    const livez = await get('http://192.0.2.1:10256/livez', 'far')
    assert.equal(livez.status, 200)
    assert.equal((JSON.parse(livez.body) as { healthy: boolean }).healthy, true)
    assert.equal((await get('http://192.0.2.1:10256/healthz', 'far')).status, 503, 'there is no node n1 in the API')

    await end(proxy, 'SIGTERM')
    assert.match(world.run('nft', ['list', 'tables']), /kube-proxy/, 'rules outlive it')
    const cleaned = spawnSync('ip', ['netns', 'exec', world.namespace('node'), process.execPath, main, 'proxy', '--cleanup'], {
      encoding: 'utf8',
    })
    assert.equal(cleaned.status, 0, cleaned.stderr)
    assert.doesNotMatch(world.run('nft', ['list', 'tables']), /kube-proxy/)
    const explained = spawnSync(
      'ip',
      [
        'netns',
        'exec',
        world.namespace('node'),
        process.execPath,
        main,
        'explain',
        'connection',
        'nobody',
        '→',
        'web:80',
        '--kubeconfig',
        kubeconfig,
      ],
      { encoding: 'utf8' },
    )
    assert.equal(explained.status, 1)
    assert.equal(explained.stdout, 'It does not work: there is no pod default/nobody.\n')
  } finally {
    await end(proxy, 'SIGKILL')
    await end(cluster, 'SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
})
