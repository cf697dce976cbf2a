/** Services and policies for pods in real containers, on a real node. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { whyNoNetworkWorld } from '../support/network-world.ts'
import { leftOf, type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || whyNoNetworkWorld('nft') || (newest === undefined ? 'kubectl is not installed' : false)
const manifest = (name: string) => readFileSync(join(import.meta.dirname, 'real-node', name), 'utf8')
/** Of any cluster on the machine. (Tables that iptables itself has made stay, empty.) */
const chains = () => spawnSync('sh', ['-c', "iptables-save | grep -E '^:K[^ ]*-(SVC|SERVICES)'"], { encoding: 'utf8' }).stdout

for (const nodes of [1, 2])
  describe(`services of a cluster with ${nodes} real node(s)`, { skip: whyNot, timeout: 600_000 }, () => {
    let cluster: RealCluster
    let kubectl: Kubectl
    let service: V1Service
    const before_ = whyNot ? '' : chains()

    before(async () => {
      // Two clusters on one machine may not have the same addresses.
      cluster = await startRealCluster({
        flags: [
          '--nodes',
          String(nodes),
          '--proxy-mode',
          process.env['PROXY_MODE'] ?? 'nftables',
          '--service-cluster-ip-range',
          `10.${190 + (process.pid % 50)}.0.0/16`,
        ],
      })
      kubectl = cluster.kubectlAt(newest?.path ?? '')
      ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
      ok(['wait', '--for=create', 'serviceaccount/default', '--timeout=60s'])
      ok(['create', '-f', '-'], manifest('services.yaml'))
      ok(['rollout', 'status', 'deployment/web', '--timeout=90s'])
      ok(['wait', '--for=condition=Ready', 'pod/client', 'pod/stranger', '--timeout=60s'])
      service = JSON.parse(ok(['get', 'service', 'web', '-o', 'json'])) as V1Service
    })
    after(async () => {
      await cluster?.[Symbol.asyncDispose]()
      assert.equal(chains(), before_, 'no rule is left behind')
      assert.deepEqual(leftOf(cluster.dataDir), [])
    })

    const ok = (args: readonly string[], input?: string): string => {
      const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
      assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
      return stdout
    }
    const inPod = (pod: string, script: string) => ok(['exec', pod, '--', 'sh', '-c', script])
    /** What a server says; rules are laid a moment after the objects are there, and on each node in its own moment. */
    const answerOf = async (at: string): Promise<{ status: number; text: string }> => {
      for (const endMs = systemClock.monotonic() + 60_000; ; await systemClock.sleep(100)) {
        try {
          const answer = await fetch(at, { signal: AbortSignal.timeout(20_000) })
          return { status: answer.status, text: (await answer.text()).trim() }
        } catch (error) {
          if (systemClock.monotonic() > endMs) throw error
        }
      }
    }
    const url = () => `http://${service.spec?.clusterIP}/`
    /** The name of the pod that answers; fails where none does. (The wget of a static busybox crashes without a resolver.) */
    const askScript = (seconds: number) =>
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w ${seconds} ${service.spec?.clusterIP} 80 | tail -n 1 | grep web`

    test('pods reach the service, both endpoints in turn, and so do its own pods and the machine', async (t) => {
      const pods = new Set(ok(['get', 'pods', '-l', 'app=web', '-o', 'name']).trim().replaceAll('pod/', '').split('\n'))
      const names = new Set<string>()
      // The proxy hears of an endpoint a moment after the deployment does.
      const answersTo = (pod: string, count: number): string[] =>
        inPod(pod, `for i in $(seq ${count}); do ${askScript(20)} || sleep 0.1; done`)
          .split('\n')
          .filter(Boolean)
      const untilMs = systemClock.monotonic() + 60_000
      while (names.size < pods.size && systemClock.monotonic() < untilMs) for (const name of answersTo('client', 40)) names.add(name)
      assert.deepEqual(names, pods)
      const [own = ''] = pods
      const ownUntilMs = systemClock.monotonic() + 60_000
      while (answersTo(own, 1).length === 0) assert.ok(systemClock.monotonic() < ownUntilMs, `${own} has no answer`)
      assert.equal(answersTo(own, 10).length, 10)
      // With several nodes the machine is none of them, nor where it is the node of another cluster: it knows no services of this one.
      const { hasMachineNode } = JSON.parse(readFileSync(join(cluster.dataDir, 'node-network.json'), 'utf8'))
      if (nodes === 1 && !hasMachineNode) t.diagnostic('the machine is not asked: it is the node of another cluster')
      if (hasMachineNode) {
        const { status, text } = await answerOf(url())
        assert.ok(pods.has(text), `${url()} answered ${status}: ${text}`)
      }
      const address = ok(['get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}'])
      const { text } = await answerOf(`http://${address}:${service.spec?.ports?.[0]?.nodePort}/`)
      assert.ok(pods.has(text), `by the node port: ${text}`)
      if (nodes === 2) {
        // It is well once it has laid all that it has heard of.
        const healthUntilMs = systemClock.monotonic() + 60_000
        for (let status = 0; status !== 200; { status } = await answerOf(`http://${address}:10256/healthz`))
          assert.ok(systemClock.monotonic() < healthUntilMs, `the proxy does not say that it is well: ${status}`)
      }
    })

    /** Asks without end in the client's pod while the work is done; resolves with how many requests there were and how many failed. */
    const underLoad = async (work: () => unknown) => {
      const load = `rm -f /tmp/failed /tmp/end /tmp/count; n=0; while [ ! -e /tmp/end ]; do ${askScript(20)} || echo $? >> /tmp/failed; n=$((n+1)); done; echo $n > /tmp/count`
      inPod('client', `(${load}) > /dev/null 2>&1 &`)
      await work()
      const count = inPod('client', 'touch /tmp/end; while [ ! -s /tmp/count ]; do sleep 0.1; done; cat /tmp/count')
      return { count: Number(count), failed: Number(inPod('client', 'cat /tmp/failed 2>/dev/null | wc -l')) }
    }

    test('rolling the deployment under load fails no request', async () => {
      const { count, failed } = await underLoad(() => {
        ok(['rollout', 'restart', 'deployment/web'])
        ok(['rollout', 'status', 'deployment/web', '--timeout=120s'])
        // Until the last of the old pods is gone.
        while (ok(['get', 'pods', '-l', 'app=web', '-o', 'name']).trim().split('\n').length > 2);
      })
      assert.ok(count > 10)
      assert.equal(failed, 0, `of ${count} requests`)
    })

    test('killing the cluster and its proxies, and starting them again, fails no request', async () => {
      const { count, failed } = await underLoad(async () => {
        await cluster.kill()
        await cluster.start()
        // The node's agent comes back a moment after the API.
        while (kubectl.run(['exec', 'client', '--', 'true']).exitCode !== 0);
      })
      assert.ok(count > 10)
      assert.equal(failed, 0, `of ${count} requests`)
    })

    test('a policy lets in those it names and nobody else, and what explains connections agrees', () => {
      ok(['create', '-f', '-'], manifest('policy.yaml'))
      const ask = (pod: string, seconds: number) => kubectl.run(['exec', pod, '--', 'sh', '-c', askScript(seconds)]).exitCode
      // The agent hears of the policy a moment after it was made.
      while (ask('stranger', 2) === 0);
      while (ask('client', 20) !== 0);
      const explain = (pod: string) => {
        const main = join(import.meta.dirname, '..', '..', 'src/cmd/main.ts')
        const args = [main, 'explain', 'connection', pod, '→', 'web:80', '--data-dir', cluster.dataDir]
        return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
      }
      assert.match(explain('client'), /^It works: /)
      assert.match(
        explain('stranger'),
        /^It does not work: pod default\/web-\S+ is isolated for ingress by NetworkPolicy default\/only-clients/,
      )
      ok(['delete', 'networkpolicy', 'only-clients'])
      while (ask('stranger', 5) !== 0);
    })
  })
