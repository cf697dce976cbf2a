/** Pods in real containers, as the real kubectl sees them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl, portForward } from '../support/kubectl.ts'
import { leftOf, processesOf, type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const installed = installedKubectls()
/** Up to 1.29 they speak SPDY alone; from 1.31 on WebSockets come first. */
const oldest = installed.findLast(({ version }) => Number(version.split('.')[1]) <= 29) ?? installed[0]
const newest = installed.at(-1)
const whyNot = whyNoContainers() || (newest === undefined || oldest === undefined ? 'kubectl is not installed' : false)
const apiCaller = readFileSync(join(import.meta.dirname, 'real-node', 'api-caller.yaml'), 'utf8')
/** What the pod of the manifest says. A runtime reads two pipes: which line comes first is not certain. */
const bothStreams = ['hello on stdout', 'on stderr']
const manifest = readFileSync(join(import.meta.dirname, 'real-node', 'everything.yaml'), 'utf8')

describe('a cluster with a real node', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl
  let kept: string

  before(async () => {
    cluster = await startRealCluster()
    kubectl = cluster.kubectlAt(newest?.path ?? '')
    kept = join(cluster.directory, 'kept')
    mkdirSync(kept)
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  const ok = (args: readonly string[], input?: string, by = kubectl): string => {
    const { exitCode, stdout, stderr } = by.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const podsNow = (...which: string[]): V1Pod[] => (JSON.parse(ok(['get', 'pods', ...which, '-o', 'json'])) as { items: V1Pod[] }).items
  /** Resolves with the first value that is wanted; fails with the last one. What throws meanwhile is not there yet. */
  const until = async <T>(look: () => T, check: (value: T) => void): Promise<T> => {
    for (const endMs = systemClock.monotonic() + 90_000; ; await systemClock.sleep(200)) {
      try {
        const value = look()
        check(value)
        return value
      } catch (error) {
        if (systemClock.monotonic() > endMs) throw error
      }
    }
  }
  const mounted = () => readFileSync('/proc/mounts', 'utf8')
  const identityOf = ({ metadata, status }: V1Pod) => {
    const containers = status?.containerStatuses?.map(({ containerID, restartCount, state }) => [containerID, restartCount, state?.running])
    return { name: metadata.name, ip: status?.podIP, phase: status?.phase, containers }
  }

  test('the node is ready, and says what it is', () => {
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
    const [node] = JSON.parse(ok(['get', 'nodes', '-o', 'json'])).items
    assert.match(node.status.nodeInfo.containerRuntimeVersion, /^containerd:\/\//)
    assert.ok(Number(node.status.capacity.cpu) > 0)
  })

  test('a pod with init containers, a sidecar, probes, hooks, variables and volumes runs', async () => {
    ok(['wait', '--for=create', 'serviceaccount/default', '--timeout=60s'])
    ok(['create', '-f', '-'], manifest.replace('KEPT', JSON.stringify(kept)))
    ok(['wait', '--for=condition=Ready', 'pod/everything', '--timeout=90s'])
    // The runtime writes down what a container says a moment after it was said.
    const lines = await until(
      () => ok(['logs', 'everything', '-c', 'main']).trimEnd().split('\n'),
      (said) => assert.deepEqual(said.toSorted(), bothStreams),
    )
    assert.equal(ok(['logs', 'everything', '-c', 'main', '--tail=1']), `${lines[1]}\n`)
    assert.match(ok(['logs', 'everything', '-c', 'main', '--timestamps']), /^\d{4}-.*Z hello on stdout$/m)
  })

  for (const [kind, chosen] of Object.entries({ oldest, newest })) {
    test(`kubectl ${chosen?.version} (the ${kind}) looks into it: exec, exit codes, stdin, cp, port-forward`, async () => {
      const by = cluster.kubectlAt(chosen?.path ?? '')
      const seen = (script: string) => ok(['exec', 'everything', '-c', 'main', '--', 'sh', '-c', script], undefined, by)
      assert.equal(seen('cat /shared/order'), 'first\nbeside\nsecond\n')
      assert.equal(seen('cat /shared/post-start'), 'post-start\n')
      assert.equal(seen('echo $BOTH $ALL_greeting $MEMORY'), 'hello-s3cret hello 67108864\n')
      assert.equal(seen('echo $POD_IP'), `${podsNow()[0]?.status?.podIP}\n`)
      assert.equal(seen('cat /settings/file.txt /only/file.txt /mixed/greeting'), 'from a config mapfrom a config maphello')
      assert.equal(seen('stat -c %a%g /hidden/..data/password'), '4402000\n')
      assert.equal(seen('cat /about/labels /about/cpu'), 'app="everything"500')
      assert.match(seen('df -m /memory | tail -1'), /^tmpfs +8 /)
      assert.equal(seen('wc -c < /var/run/secrets/kubernetes.io/serviceaccount/token').trim() > '500', true)
      assert.match(seen('id -G'), /\b2000\b.*\b3000\b/)
      assert.equal(seen('hostname -f'), 'named.below.default.svc.cluster.local\n')
      const failed = by.run(['exec', 'everything', '-c', 'main', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
      assert.deepEqual([failed.exitCode, failed.stdout, failed.stderr.includes('err\n')], [7, 'out\n', true])
      assert.equal(ok(['exec', '-i', 'everything', '-c', 'main', '--', 'wc', '-c'], 'x'.repeat(100_000), by), '100000\n')

      const there = join(cluster.directory, 'there')
      const back = join(cluster.directory, `back-${kind}`)
      writeFileSync(there, Buffer.alloc(3 << 20, kind))
      ok(['cp', there, 'everything:/tmp/there', '-c', 'main'], undefined, by)
      ok(['cp', 'everything:/tmp/there', back, '-c', 'main'], undefined, by)
      assert.ok(readFileSync(back).equals(readFileSync(there)))

      const forwarder = { path: chosen?.path ?? '', kubeconfig: join(cluster.dataDir, 'admin.kubeconfig') }
      await using forward = await portForward(forwarder, 'pod/everything', 'http')
      assert.equal(await (await fetch(`${forward.url}/order`)).text(), 'first\nbeside\nsecond\n')
    })
  }

  test('through the API server: the pod as a web server, and its node', () => {
    assert.equal(ok(['get', '--raw', '/api/v1/namespaces/default/pods/everything:8080/proxy/order']), 'first\nbeside\nsecond\n')
    const [node] = podsNow().map(({ spec }) => spec.nodeName)
    assert.equal(ok(['get', '--raw', `/api/v1/nodes/${node}/proxy/healthz`]), 'ok')
  })

  test('its figures: kubectl top, the summary, and the metrics that Prometheus reads', async () => {
    // Figures are those of the last round, which may have been before the pod.
    const shows = (args: string[], wanted: RegExp) =>
      until(
        () => ok(args),
        (shown) => assert.match(shown, wanted),
      )
    await shows(['top', 'nodes', '--no-headers'], /^\S+ +\d+m +\d+% +\d+Mi +\d+% *$/m)
    await shows(['top', 'pod', 'everything', '--containers', '--no-headers'], /^everything +main +\d+m +\d+Mi *$/m)
    const [node] = podsNow().map(({ spec }) => spec.nodeName)
    const from = (path: string) => ['get', '--raw', `/api/v1/nodes/${node}/proxy/${path}`]
    await until(
      () => JSON.parse(ok(from('stats/summary'))),
      (summary) => {
        const pod = summary.pods.find(({ podRef }: { podRef: { name: string } }) => podRef.name === 'everything')
        const main = pod.containers.find(({ name }: { name: string }) => name === 'main')
        assert.ok(main.memory.workingSetBytes > 0 && main.cpu.usageCoreNanoSeconds > 0 && main.cpu.usageNanoCores >= 0)
        assert.ok(main.logs.usedBytes > 0 && pod.network.rxBytes >= 0 && summary.node.fs.capacityBytes > 0)
      },
    )
    await shows(
      from('metrics/resource'),
      /^container_memory_working_set_bytes\{container="main",namespace="default",pod="everything"\} [1-9]/m,
    )
    await shows(from('metrics/cadvisor'), /^container_network_receive_bytes_total\{[^}]*pod="everything"[^}]*interface="eth0"\} \d/m)
  })

  test('what a config map says now is soon in the file', () => {
    ok(['patch', 'configmap', 'settings', '-p', '{"data":{"file.txt":"changed"}}'])
    const waiting = 'for i in $(seq 1500); do grep -q changed /settings/file.txt && exit 0; sleep 0.1; done; exit 1'
    ok(['exec', 'everything', '-c', 'main', '--', 'sh', '-c', waiting])
  })

  test('a container that fails its liveness probe is started anew', () => {
    ok(['exec', 'everything', '-c', 'main', '--', 'touch', '/tmp/broken'])
    ok(['wait', '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', 'pod/everything', '--timeout=90s'])
    ok(['wait', '--for=condition=Ready', 'pod/everything', '--timeout=90s'])
    assert.deepEqual(ok(['logs', 'everything', '-c', 'main', '--previous']).trimEnd().split('\n').toSorted(), bothStreams)
  })

  test('an ephemeral container looks into a running pod', () => {
    const debug = [
      'debug',
      'everything',
      '--image=typernetes.test/busybox:1',
      '--target=main',
      '-c',
      'visitor',
      '--',
      'sh',
      '-c',
      'ps; exit 4',
    ]
    ok(debug)
    const code = '{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=4'
    ok(['wait', `--for=jsonpath=${code}`, 'pod/everything', '--timeout=60s'])
    assert.match(ok(['logs', 'everything', '-c', 'visitor']), /httpd/)
  })

  test('a pod calls the API with its token, at the address of the kubernetes service, and believes its certificate', () => {
    ok(['create', 'rolebinding', 'viewers', '--clusterrole=view', '--serviceaccount=default:default'])
    const { addresses, ports } = JSON.parse(ok(['get', 'endpoints', 'kubernetes', '-o', 'json'])).subsets[0]
    ok(['create', '-f', '-'], apiCaller.replace('NODE', JSON.stringify(process.execPath)))
    ok(['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/caller', '--timeout=150s'])
    const [names, secrets] = ok(['logs', 'caller']).trim().split('\n')
    assert.match(names ?? '', /^200 .*\bcaller\b/)
    assert.equal(
      secrets,
      '403 secrets is forbidden: User "system:serviceaccount:default:default" cannot list resource "secrets" in API group "" in the namespace "default"',
    )
    // No other address of the machine has the port.
    const sockets = spawnSync('ss', ['-Hltn', `sport = :${ports[0].port}`], { encoding: 'utf8' }).stdout
    assert.deepEqual(
      sockets
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/)[3])
        .sort(),
      [`127.0.0.1:${ports[0].port}`, `${addresses[0].ip}:${ports[0].port}`].sort(),
    )
    ok(['delete', 'pod', 'caller'])
  })

  test('a deleted pod ends in peace, and nothing of it stays', async () => {
    const [{ metadata: { uid = '' } = {} } = {}] = podsNow('--field-selector', 'metadata.name=everything')
    assert.notEqual(uid, '')
    ok(['delete', 'pod', 'everything'])
    assert.equal(readFileSync(join(kept, 'pre-stop'), 'utf8'), 'pre-stop\n')
    await until(mounted, (mounts) => assert.ok(!mounts.includes(uid)))
  })

  test('a job runs to its end, and one that fails too often is told so', () => {
    const image = '--image=typernetes.test/busybox:1'
    ok(['create', 'job', 'good', image, '--', 'sh', '-c', 'echo done'])
    ok(['wait', '--for=condition=Complete', 'job/good', '--timeout=60s'])
    assert.equal(ok(['logs', 'job/good']), 'done\n')
    ok(['run', 'bad', image, '--restart=Never', '--', 'sh', '-c', 'echo last words > /dev/termination-log; exit 3'])
    ok(['wait', '--for=jsonpath={.status.phase}=Failed', 'pod/bad', '--timeout=60s'])
    assert.equal(ok(['get', 'pod', 'bad', '-o', 'jsonpath={.status.containerStatuses[0].state.terminated.message}']), 'last words\n')
    ok(['delete', 'job/good', 'pod/bad'])
  })

  test('thirty pods outlive the agent that is killed, and the containerd that is killed', async () => {
    const script = 'while true; do sleep 3600; done'
    const container = { name: 'main', image: 'typernetes.test/busybox:1', command: ['sh', '-c', script] }
    const template = { metadata: { labels: { app: 'many' } }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } }
    const spec = { replicas: 30, selector: { matchLabels: { app: 'many' } }, template }
    ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'many' }, spec }))
    const available = () => ok(['wait', '--for=jsonpath={.status.availableReplicas}=30', 'deployment/many', '--timeout=60s'])
    for (let tries = 0; kubectl.run(['get', 'deployment', 'many', '-o', 'jsonpath={.status.availableReplicas}']).stdout !== '30'; tries++) {
      if (tries === 5) available()
      else kubectl.run(['wait', '--for=jsonpath={.status.availableReplicas}=30', 'deployment/many', '--timeout=60s'])
    }
    // What earlier tests have left to the garbage collector does not count.
    const many = () => podsNow('-l', 'app=many').map(identityOf)
    const before = many()

    await cluster.kill()
    await cluster.start()
    ok(['run', 'after-kill', '--image=typernetes.test/busybox:1', '--restart=Never', '--', 'true'])
    ok(['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/after-kill', '--timeout=120s'])
    ok(['delete', 'pod', 'after-kill'])
    assert.deepEqual(many(), before)

    process.kill(Number(readFileSync(join(cluster.dataDir, 'containerd', 'containerd.pid'), 'utf8')), 'SIGKILL')
    ok(['run', 'after-containerd', '--image=typernetes.test/busybox:1', '--restart=Never', '--', 'true'])
    const done = ['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/after-containerd', '--timeout=60s']
    if (kubectl.run(done).exitCode !== 0) ok(done)
    ok(['delete', 'pod', 'after-containerd'])
    assert.deepEqual(many(), before)
  })

  test('pods that were deleted while no agent ran are ended by the next one', async () => {
    const uids = podsNow('-l', 'app=many').map(({ metadata }) => metadata.uid ?? '')
    ok(['delete', 'deployment', 'many', '--cascade=foreground', '--wait=false'])
    await cluster.kill()
    await cluster.start()
    ok(['wait', '--for=delete', 'pod', '-l', 'app=many', '--timeout=180s'])
    await until(mounted, (mounts) =>
      assert.deepEqual(
        uids.filter((uid) => mounts.includes(uid)),
        [],
      ),
    )
  })

  test('down says how many pods run on, the next start finds them; delete leaves nothing of the cluster behind, and may come twice', async () => {
    for (const name of ['one', 'two']) ok(['run', name, '--image=typernetes.test/busybox:1', '--', 'sleep', '3600'])
    ok(['wait', '--for=condition=Ready', 'pod/one', 'pod/two', '--timeout=60s'])
    const before = podsNow().map(identityOf)
    const count = before.length
    const stopped = cluster.run('down')
    assert.equal(stopped.status, 0, stopped.stderr)
    assert.match(stopped.stdout, new RegExp(`is stopped\n${count} pods run on; `))
    assert.match(cluster.run('status').stdout, new RegExp(`^No cluster runs in .*\n${count} pods run on; `))
    await cluster.start()
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
    assert.deepEqual(podsNow().map(identityOf), before)
    const gone = cluster.run('delete')
    assert.equal(gone.status, 0, gone.stderr)
    assert.ok(!existsSync(cluster.dataDir))
    assert.deepEqual(leftOf(cluster.dataDir), [])
    // Who was told to end may take a moment.
    await until(
      () => processesOf(cluster.directory),
      (processes) => assert.deepEqual(processes, []),
    )
    await until(mounted, (mounts) => assert.ok(!mounts.includes(cluster.directory)))
    assert.equal(cluster.run('delete').status, 0)
  })
})
