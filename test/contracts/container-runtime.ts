/** What every runtime that runs real containers promises. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { after, before } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import type { V1Container, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import type { ContainerPlan, SandboxPlan } from '#kubelet/runtimes/plans.ts'
import { ExecTimeout, type ObservedContainer, type ObservedPod, type RuntimeHealth } from '#kubelet/runtimes/runtime.ts'
import type { TestRuntime } from '../support/containerd.ts'
import { namedUserImage, testImage, userImage } from '../support/test-image.ts'
import { chosenRows } from './chosen-rows.ts'

const needsUsers = { skip: thisProcess.userNamespace?.hasOneUser === true && 'the user namespace has one user' }
const needsCgroups = { skip: thisProcess.userNamespace !== undefined && 'a user other than root has no cgroups' }

export type ContainerWorld = {
  /** As in the ids of containers. */
  scheme: string
  start(): Promise<TestRuntime>
  /** What it says of itself; absent where that depends on the machine. */
  health?: RuntimeHealth
  /** What is known of a container that has ended by itself, with code 9, while the runtime was away. */
  unseenEnd?: { exitCode: number; reason: string }
  /** Of a container whose program is not there. */
  startErrorCode?: number
  /** Where the machine lets nobody be that. */
  cannotBePrivileged?: boolean
  /** The only tests to be run, by their names: where a part of the table is all there is time for. */
  rows?: readonly string[]
}

export function containerRuntimeSuite(world: ContainerWorld): void {
  const { scheme, start, health, startErrorCode = 128, cannotBePrivileged = false, unseenEnd = { exitCode: 9, reason: 'Error' } } = world
  const test = chosenRows(world.rows)
  let signal: AbortSignal
  let containerd: TestRuntime
  let client: CriConnection
  let runtime: CriRuntime
  let cgroups: PodCgroups | undefined
  let logs: string

  before(async () => {
    signal = AbortSignal.timeout(600_000)
    containerd = await start()
    client = await containerd.client()
    logs = join(containerd.directory, 'logs')
    const found = await findCgroups(nodeFiles)
    assert.ok(found ?? thisProcess.userNamespace)
    cgroups = found && new PodCgroups({ cgroups: found, logger: silentLogger, root: containerd.podCgroup })
    runtime = await startRuntime()
  })

  after(async () => {
    runtime?.stop()
    client?.[Symbol.dispose]()
    await containerd?.[Symbol.asyncDispose]()
  })

  const startRuntime = (connection = client) =>
    CriRuntime.start({
      ...{ client: connection, clock: systemClock, logger: silentLogger, files: nodeFiles, ...defined({ cgroups }) },
      capacity: { memoryBytes: thisMachine().memoryBytes, hugePageSizes: [] },
      // What is put aside is named by the second.
      logRotation: { maxBytes: 1000, maxFiles: 10, everyMs: 1001 },
    })

  let podCount = 0
  const aPod = (spec: Partial<V1PodSpec> & { containers: V1Container[] }): V1Pod => {
    const name = `pod-${++podCount}`
    return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', uid: `uid-${name}`, labels: { app: name } }, spec }
  }
  const sh = (script: string, more: Partial<V1Container> = {}): V1Container => ({
    name: 'main',
    image: testImage,
    command: ['sh', '-c', script],
    ...more,
  })
  const planOf = (pod: V1Pod): SandboxPlan => ({
    hostname: pod.metadata.name ?? '',
    logDirectory: join(logs, pod.metadata.uid ?? ''),
    runtimeHandler: '',
    dns: { servers: ['10.96.0.10'], searches: ['default.svc.cluster.local'], options: ['ndots:5'] },
  })
  const planFor = (container: V1Container, more: Partial<ContainerPlan> = {}): ContainerPlan => ({
    imageRef: container.image ?? '',
    ...(container.command === undefined ? {} : { command: container.command }),
    env: [],
    mounts: [],
    ...more,
  })
  const uidOf = (pod: V1Pod): string => pod.metadata.uid ?? ''

  /** Runs the pod's first container in a sandbox. */
  const run = async (pod: V1Pod, more: Partial<ContainerPlan> = {}): Promise<{ sandboxId: string; id: string }> => {
    const sandbox = await runtime.runSandbox(pod, planOf(pod), signal)
    const [container] = pod.spec.containers
    assert.ok(container)
    const request = { sandboxId: sandbox.id, pod, container, attempt: 0, plan: planFor(container, more) }
    const id = await runtime.createContainer(request, signal)
    await runtime.startContainer(id, signal)
    return { sandboxId: sandbox.id, id }
  }
  /** Waits for events until the pod looks right. */
  const until = async (pod: V1Pod, looksRight: (observed: ObservedPod) => boolean): Promise<ObservedPod> => {
    for (;;) {
      const happened = Promise.withResolvers<void>()
      using _listening = runtime.onEvent(({ podUid }) => {
        if (podUid === uidOf(pod)) happened.resolve()
      })
      const observed = await runtime.observe(uidOf(pod))
      if (looksRight(observed)) return observed
      await happened.promise
    }
  }
  const ended = async (pod: V1Pod): Promise<ObservedContainer> => {
    const { containers } = await until(pod, (observed) => observed.containers[0]?.state === 'exited')
    assert.ok(containers[0])
    return containers[0]
  }
  const logOf = (container: ObservedContainer | undefined): string =>
    readFileSync(container?.logFile ?? '', 'utf8').replace(/^\S+ (stdout|stderr) [FP] /gm, '')

  test('a sandbox has an address, and its container runs to its end', async () => {
    const pod = aPod({ containers: [sh('echo hello from $(hostname); echo trouble >&2; cat /etc/resolv.conf; exit 3')] })
    const sandbox = await runtime.runSandbox(pod, planOf(pod), signal)
    assert.ok(sandbox.ips[0]?.startsWith(containerd.podCidr.replace('0/24', '')), `${sandbox.ips[0]}`)
    assert.ok(sandbox.isReady)
    const [container] = pod.spec.containers
    assert.ok(container)
    const id = await runtime.createContainer({ sandboxId: sandbox.id, pod, container, attempt: 2, plan: planFor(container) }, signal)
    assert.ok(id.startsWith(`${scheme}://`), id)
    assert.equal((await runtime.observe(uidOf(pod))).containers[0]?.state, 'created')
    await runtime.startContainer(id, signal)
    const { startedMs = 0, finishedMs = 0, ...last } = await ended(pod)
    assert.deepEqual([last.id, last.name, last.attempt, last.exitCode, last.reason], [id, 'main', 2, 3, 'Error'])
    // Containerd notes the start once it has been told of it: a container that ends at once may have ended before.
    assert.ok(startedMs >= last.createdMs && finishedMs >= last.createdMs)
    assert.equal(last.logFile, join(logs, uidOf(pod), 'main/2.log'))
    const log = logOf(last as ObservedContainer)
    assert.match(log, new RegExp(`hello from ${pod.metadata.name}`))
    assert.match(log, /trouble/)
    assert.match(log, /nameserver 10\.96\.0\.10/)
    assert.equal(last.specImage, testImage)
    assert.deepEqual(await runtime.podUids(), [uidOf(pod)])
    assert.deepEqual([...(await runtime.snapshot()).keys()], [uidOf(pod)])
    const { runtimeProblem, networkProblem, ...said } = await runtime.health()
    assert.deepEqual([runtimeProblem, networkProblem], [undefined, undefined])
    if (health !== undefined) assert.deepEqual(said, health)
    await runtime.stopSandbox(sandbox.id)
    await runtime.removeSandbox(sandbox.id)
    assert.deepEqual(await runtime.observe(uidOf(pod)), { sandboxes: [], containers: [] })
    await runtime.stopContainer(id, 0)
    await runtime.removeContainer(id)
    await runtime.stopSandbox(sandbox.id)
    await runtime.removeSandbox(sandbox.id)
  })

  test('commands run in a container, and are given up when they take too long', async () => {
    const pod = aPod({ containers: [sh('sleep 1000')] })
    const { sandboxId, id } = await run(pod, { env: [{ name: 'GREETING', value: 'hällo' }] })
    const said = await runtime.exec(id, ['sh', '-c', 'echo $GREETING; echo no >&2; exit 7'], 60_000)
    assert.deepEqual(said, { exitCode: 7, stdout: 'hällo\n', stderr: 'no\n' })
    await assert.rejects(runtime.exec(id, ['sleep', '100'], 1000), ExecTimeout)
    await assert.rejects(runtime.exec(id, ['no-such-program'], 60_000), /executable file not found/)
    assert.match(await runtime.streams.exec(id, ['sh'], { stdin: true, stdout: true, stderr: false, tty: true }), /^http:\/\/127\.0\.0\.1:/)
    assert.match(await runtime.streams.attach(id, { stdin: false, stdout: true, stderr: true, tty: false }), /\/attach\//)
    assert.match(await runtime.streams.portForward(sandboxId, [80]), /\/portforward\//)
    await runtime.removeSandbox(sandboxId)
  })

  test('a container is asked to end, and a later call with less grace shortens the wait', async () => {
    const pod = aPod({ containers: [sh("trap 'exit 5' TERM; touch /ready; while true; do sleep 0.05; done")] })
    const obedient = await run(pod)
    await runtime.exec(obedient.id, ['sh', '-c', 'until test -e /ready; do sleep 0.02; done'], 60_000)
    await runtime.stopContainer(obedient.id, 20_000)
    assert.equal((await ended(pod)).exitCode, 5)
    await runtime.removeSandbox(obedient.sandboxId)

    const other = aPod({ containers: [sh("trap '' TERM; touch /ready; while true; do sleep 0.05; done")] })
    const stubborn = await run(other)
    const patient = runtime.stopContainer(stubborn.id, 600_000)
    await runtime.stopContainer(stubborn.id, 0)
    await patient
    const last = await ended(other)
    assert.deepEqual([last.exitCode, last.reason], [137, 'Error'])
    await runtime.removeSandbox(stubborn.sandboxId)
  })

  test('last words come from the file, or from the end of the log where that is asked for', async () => {
    const file = join(containerd.directory, 'last-words')
    writeFileSync(file, '')
    const mounts = [{ containerPath: '/dev/termination-log', hostPath: file, isReadOnly: false }]
    const speaking = aPod({ containers: [sh('echo -n bye > /dev/termination-log; echo noise; exit 1')] })
    const first = await run(speaking, { mounts, terminationMessageFile: file })
    assert.equal((await ended(speaking)).message, 'bye')
    await runtime.removeSandbox(first.sandboxId)

    const silent = aPod({ containers: [sh('echo one; echo two; exit 1', { terminationMessagePolicy: 'FallbackToLogsOnError' })] })
    const second = await run(silent)
    assert.equal((await ended(silent)).message, 'one\ntwo\n')
    await runtime.removeSandbox(second.sandboxId)
  })

  test('a log that grows too long is put aside, and nothing of it is lost', async () => {
    const pod = aPod({ containers: [sh('for i in $(seq 100); do echo line $i; done; sleep 1000')] })
    const { sandboxId, id } = await run(pod)
    const { containers } = await runtime.observe(uidOf(pod))
    const log = containers[0]?.logFile ?? ''
    const directory = dirname(log)
    while (readdirSync(directory).length < 2 || !existsSync(log)) await systemClock.sleep(10)
    await runtime.exec(id, ['sh', '-c', 'echo the last line > /proc/1/fd/1'], 60_000)
    const expected = [...Array.from({ length: 100 }, (_, index) => `line ${index + 1}`), 'the last line']
    // However often it was put aside meanwhile, and whatever is being put aside just now.
    const untilMs = Date.now() + 60_000
    let written = linesIn(directory)
    for (; !isDeepStrictEqual(written, expected) && Date.now() < untilMs; written = linesIn(directory)) await systemClock.sleep(10)
    assert.deepEqual(written, expected)
    assert.ok(readdirSync(directory).some((name) => /^0\.log\.\d{8}-\d{6}$/.test(name)))
    await runtime.removeSandbox(sandboxId)
  })

  test('a container that takes more memory than it may is killed for it', needsCgroups, async () => {
    const limits = { memory: '16Mi', cpu: '1' }
    const pod = aPod({ containers: [sh('head -c 64000000 /dev/zero | tail', { resources: { limits, requests: limits } })] })
    const { sandboxId } = await run(pod)
    // Containerd tells of the end and of its reason in any order.
    const { containers } = await until(pod, (observed) => observed.containers[0]?.reason === 'OOMKilled')
    assert.deepEqual([containers[0]?.state, containers[0]?.exitCode], ['exited', 137])
    await runtime.removeSandbox(sandboxId)
  })

  test('a program that is not there is told of', async () => {
    const pod = aPod({ containers: [sh('', { command: ['/no/such/program'] })] })
    await assert.rejects(run(pod), { name: 'StartFailure', reason: 'RunContainerError', message: /no such file or directory/ })
    const { sandboxes, containers } = await runtime.observe(uidOf(pod))
    assert.deepEqual([containers[0]?.state, containers[0]?.exitCode], ['exited', startErrorCode])
    await runtime.removeSandbox(sandboxes[0]?.id ?? '')
  })

  test('users, groups and rights are as the security contexts say', needsUsers, async () => {
    const script = 'id; grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; touch /x || echo read-only'
    const pod = aPod({
      securityContext: { runAsUser: 1234, fsGroup: 4321, supplementalGroups: [77], seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        sh(script, {
          securityContext: {
            runAsGroup: 99,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
        }),
      ],
    })
    const { sandboxId } = await run(pod)
    const log = logOf(await ended(pod))
    assert.match(log, /uid=1234 gid=99 groups=77,99,4321/)
    assert.match(log, /CapEff:\s0000000000000000/)
    assert.match(log, /NoNewPrivs:\s1/)
    assert.match(log, /Seccomp:\s2/)
    assert.match(log, /read-only/)
    await runtime.removeSandbox(sandboxId)

    if (cannotBePrivileged) return
    const privileged = aPod({ containers: [sh(script, { securityContext: { privileged: true, capabilities: { add: ['NET_ADMIN'] } } })] })
    const free = await run(privileged)
    const said = logOf(await ended(privileged))
    assert.match(said, /uid=0/)
    assert.match(said, /Seccomp:\s0/)
    await runtime.removeSandbox(free.sandboxId)
  })

  test('who must not be root is not', needsUsers, async () => {
    const pod = aPod({ securityContext: { runAsNonRoot: true }, containers: [sh('id -u')] })
    const sandbox = await runtime.runSandbox(pod, planOf(pod), signal)
    const create = (container: V1Container) =>
      runtime.createContainer({ sandboxId: sandbox.id, pod, container, attempt: 0, plan: planFor(container) }, signal)
    const where = `(pod: "${pod.metadata.name}_default(${uidOf(pod)})", container: main)`
    const refusals: [V1Container, string][] = [
      [sh('id'), `container has runAsNonRoot and image will run as root ${where}`],
      [sh('id', { securityContext: { runAsUser: 0 } }), `container's runAsUser breaks non-root policy ${where}`],
      [
        sh('id', { image: namedUserImage }),
        `container has runAsNonRoot and image has non-numeric user (tester), cannot verify user is non-root ${where}`,
      ],
    ]
    for (const [container, message] of refusals) {
      await assert.rejects(create(container), { name: 'StartFailure', reason: 'CreateContainerConfigError', message })
    }
    await runtime.startContainer(await create(sh('id -u', { image: userImage })), signal)
    assert.equal(logOf(await ended(pod)), '1000\n')
    await runtime.removeSandbox(sandbox.id)
  })

  test('processes see each other where the pod shares them, and orphans are buried', async () => {
    const dead = 'cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z"'
    const script = `ps; (sh -c "sleep 0.01 & exec true"); for i in $(seq 600); do sleep 0.1; n=$(${dead}); [ $n = 0 ] && break; done; echo $n; echo done`
    const pod = aPod({ shareProcessNamespace: true, containers: [sh(script)] })
    const { sandboxId } = await run(pod)
    const log = logOf(await ended(pod))
    assert.match(log, thisProcess.userNamespace?.hasOneUser ? /1 root\s+\/pause/ : /1 65535\s+\/pause/)
    assert.match(log, /\n0\ndone/)
    await runtime.removeSandbox(sandboxId)
  })

  test('namespaces are shared with the node, or with another container, where the pod says so', async () => {
    const onNode = aPod({
      hostPID: true,
      hostIPC: true,
      containers: [sh('for kind in pid ipc net; do readlink /proc/self/ns/$kind; done')],
    })
    const first = await run(onNode)
    const [pid, ipc, net] = logOf(await ended(onNode)).split('\n')
    assert.deepEqual([pid, ipc], [readlinkSync('/proc/self/ns/pid'), readlinkSync('/proc/self/ns/ipc')])
    assert.notEqual(net, readlinkSync('/proc/self/ns/net'))
    await runtime.removeSandbox(first.sandboxId)

    const debugged = aPod({ containers: [sh('sleep 4321')] })
    const second = await run(debugged)
    const debugging = { ...sh('ps', { name: 'debugger' }), targetContainerName: 'main' }
    const create = (container: V1Container) =>
      runtime.createContainer({ sandboxId: second.sandboxId, pod: debugged, container, attempt: 0, plan: planFor(container) }, signal)
    await assert.rejects(create({ ...debugging, targetContainerName: 'nobody' } as V1Container), /unable to find target container nobody/)
    await runtime.startContainer(await create(debugging), signal)
    const seen = await until(debugged, ({ containers }) => containers.some(({ name, state }) => name === 'debugger' && state === 'exited'))
    assert.match(logOf(seen.containers.find(({ name }) => name === 'debugger')), /sleep 4321/)
    await runtime.removeSandbox(second.sandboxId)
  })

  test('settings of the kernel, directories, mounts and rights are as asked for', async () => {
    const script =
      'pwd; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; cat /in/file; touch /in/x 2>&1; ip link set lo mtu 1400 && echo made; tty'
    const pod = aPod({
      securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '77' }] },
      containers: [
        sh(script, { workingDir: '/usr/bin', tty: true, stdin: true, securityContext: { capabilities: { add: ['NET_ADMIN'] } } }),
      ],
    })
    const directory = join(containerd.directory, 'in')
    mkdirSync(directory)
    writeFileSync(join(directory, 'file'), 'content\n')
    const { sandboxId } = await run(pod, { mounts: [{ containerPath: '/in', hostPath: directory, isReadOnly: true }] })
    const log = logOf(await ended(pod)).replaceAll('\r', '')
    assert.match(log, /^\/usr\/bin\n77\ncontent\ntouch: \/in\/x: Read-only file system\nmade\n\/dev\/pts\/0\n/)
    await runtime.removeSandbox(sandboxId)
  })

  test('limits are in the kernel, and change when the container is resized', needsCgroups, async () => {
    assert.ok(cgroups)
    const sized = (cpu: string, memory: string): V1Container =>
      sh('sleep 1000', { resources: { requests: { cpu: '100m' }, limits: { cpu, memory } } })
    const pod = aPod({ containers: [sized('200m', '32Mi')] })
    const { sandboxId, id } = await run(pod)
    const tree = await findCgroups(nodeFiles)
    const look = async (group: string) => {
      const files = tree?.version === 2 ? (['cpu.max', 'memory.max'] as const) : (['cpu.cfs_quota_us', 'memory.limit_in_bytes'] as const)
      const [quota = ''] = ((await tree?.read(group, 'cpu', files[0])) ?? '').split(' ')
      return [Number(quota), Number(await tree?.read(group, 'memory', files[1]))]
    }
    const podGroup = cgroups.parentOf(pod)
    assert.match(podGroup, /\/burstable\/pod/)
    const containerGroup = join(podGroup, id.replace(`${scheme}://`, ''))
    assert.deepEqual(await look(containerGroup), [20_000, 32 * 2 ** 20])
    assert.deepEqual(await look(podGroup), [20_000, 32 * 2 ** 20])
    for (const [cpu, memory, quota, mebibytes] of [
      ['400m', '64Mi', 40_000, 64],
      ['100m', '16Mi', 10_000, 16],
    ] as const) {
      const container = sized(cpu, memory)
      await runtime.resizeContainer(id, { ...pod, spec: { ...pod.spec, containers: [container] } }, container)
      assert.deepEqual(await look(containerGroup), [quota, mebibytes * 2 ** 20])
      assert.deepEqual(await look(podGroup), [quota, mebibytes * 2 ** 20])
    }
    await runtime.removeSandbox(sandboxId)
    assert.equal(await tree?.read(podGroup, 'memory', 'cgroup.procs'), undefined)
  })

  test('a port of the node leads to the pod, and a pod may have the network of its node', async () => {
    const served = (port: number) => `mkdir /www && echo here > /www/index.html && httpd -f -p ${port} -h /www`
    const hostPort = 24_000 + randomInt(900)
    const ports = [{ containerPort: 8080, hostPort }]
    const pod = aPod({ containers: [sh(served(8080), { ports })] })
    const { sandboxId, id } = await run(pod)
    await waitForHttp(id, 8080)
    const { sandboxes } = await runtime.observe(uidOf(pod))
    assert.equal(await (await fetch(`http://${sandboxes[0]?.ips[0]}:8080/`)).text(), 'here\n')
    const gateway = containerd.podCidr.replace('0/24', '1')
    assert.equal(await (await fetch(`http://${gateway}:${hostPort}/`)).text(), 'here\n')
    await runtime.removeSandbox(sandboxId)

    const onNode = aPod({ hostNetwork: true, containers: [sh(served(hostPort))] })
    const own = await run(onNode)
    assert.deepEqual((await runtime.observe(uidOf(onNode))).sandboxes[0]?.ips, [])
    await waitForHttp(own.id, hostPort)
    assert.equal(await (await fetch(`http://127.0.0.1:${hostPort}/`)).text(), 'here\n')
    await runtime.removeSandbox(own.sandboxId)
  })

  /** The program needs a moment until it listens. */
  const waitForHttp = async (id: string, port: number): Promise<void> => {
    const { exitCode } = await runtime.exec(
      id,
      ['sh', '-c', `until wget -q -O /dev/null http://127.0.0.1:${port}/; do sleep 0.02; done`],
      60_000,
    )
    assert.equal(exitCode, 0)
  }

  test('an end is told of by an event: nobody lists all containers again and again', async () => {
    let lists = 0
    const isHeld = (name: string) => name.startsWith('list') && ++lists > 2
    await using another = new AsyncDisposableStack()
    const listener = await startRuntime({
      call: (name, request, options) => (isHeld(name) ? new Promise(() => {}) : client.call(name, request, options)),
      get channel() {
        return client.channel
      },
      containerEvents: (...receivers) => client.containerEvents(...receivers),
      [Symbol.dispose]: () => {},
    })
    another.defer(() => listener.stop())
    const pod = aPod({ containers: [sh('sleep 1000')] })
    const { id, sandboxId } = await run(pod)
    const told = new Promise<void>((resolve) => {
      another.use(listener.onEvent(({ podUid }) => podUid === uidOf(pod) && resolve()))
    })
    await runtime.stopContainer(id, 0)
    await told
    await runtime.removeSandbox(sandboxId)
  })

  test('a sandbox whose own process dies is told of', async () => {
    const pod = aPod({ containers: [sh('sleep 1000')] })
    const { sandboxId } = await run(pod)
    const { info } = await client.call('podSandboxStatus', { podSandboxId: sandboxId, verbose: true })
    process.kill((JSON.parse(info['info'] ?? '{}') as { pid: number }).pid, 'SIGKILL')
    const { sandboxes } = await until(pod, (observed) => observed.sandboxes[0]?.isReady === false)
    assert.equal(sandboxes[0]?.id, sandboxId)
    const again = await runtime.runSandbox(pod, planOf(pod), signal)
    assert.deepEqual(
      (await runtime.observe(uidOf(pod))).sandboxes.map(({ id, isReady }) => [id, isReady]),
      [
        [again.id, true],
        [sandboxId, false],
      ],
    )
    await runtime.removeSandbox(sandboxId)
    await runtime.removeSandbox(again.id)
  })

  test('another agent finds everything as this one left it', async () => {
    const pod = aPod({ containers: [sh('sleep 1000'), sh('hostname; sleep 1000', { name: 'second' })] })
    const { sandboxId } = await run(pod)
    const before = await runtime.observe(uidOf(pod))
    const other = await startRuntime()
    try {
      assert.deepEqual(await other.observe(uidOf(pod)), before)
      const container = pod.spec.containers[1] as V1Container
      const id = await other.createContainer({ sandboxId, pod, container, attempt: 0, plan: planFor(container) }, signal)
      await other.startContainer(id, signal)
      const { containers } = await other.observe(uidOf(pod))
      assert.deepEqual(
        containers.map(({ name, state }) => [name, state]),
        [
          ['second', 'running'],
          ['main', 'running'],
        ],
      )
      assert.equal(containers[0]?.logFile, join(logs, uidOf(pod), 'second/0.log'))
    } finally {
      other.stop()
    }
    await runtime.removeSandbox(sandboxId)
  })

  test('the runtime killed and started again: containers run on, and an end meanwhile is told of', async () => {
    const go = join(containerd.directory, 'go')
    writeFileSync(go, '')
    const mounts = [{ containerPath: '/go', hostPath: go, isReadOnly: true }]
    const mark = `ending in ${basename(containerd.directory)}`
    const ending = aPod({ containers: [sh(`: ${mark}; until grep -q now /go; do sleep 0.05; done; exit 9`)] })
    const staying = aPod({ containers: [sh('sleep 1000')] })
    const gone = await run(ending, { mounts })
    const stayed = await run(staying)
    const { containers: before } = await runtime.observe(uidOf(staying))
    await containerd.kill()
    await assert.rejects(runtime.observe(uidOf(staying)))
    writeFileSync(go, 'now')
    while (isInCommandLine(mark)) await systemClock.sleep(10)
    const isNotified = Promise.withResolvers<void>()
    using _listening = runtime.onEvent(({ podUid }) => {
      if (podUid === uidOf(staying)) isNotified.resolve()
    })
    await containerd.start()
    await isNotified.promise
    const { exitCode, reason } = await ended(ending)
    assert.deepEqual({ exitCode, reason }, unseenEnd)
    assert.deepEqual((await runtime.observe(uidOf(staying))).containers, before)
    assert.equal((await runtime.exec(stayed.id, ['echo', 'alive'], 60_000)).stdout, 'alive\n')
    await runtime.stopContainer(stayed.id, 0)
    assert.equal((await ended(staying)).exitCode, 137)
    for (const { sandboxId } of [gone, stayed]) await runtime.removeSandbox(sandboxId)
  })
  test.assertAllKnown()
}

/** Whether any process has been started with these words. */
function isInCommandLine(words: string): boolean {
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && (textIfPresent(join('/proc', name, 'cmdline')) ?? '').includes(words))
}

/** What ends, or is put aside, while it is looked at cannot be read. */
function textIfPresent(path: string): string | undefined {
  try {
    const bytes = readFileSync(path)
    return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
  } catch {
    return undefined
  }
}

/** Of a log and all that was put aside of it, oldest first. */
function linesIn(directory: string): string[] {
  const names = readdirSync(directory)
  const whole = names.filter((name) => !(name.endsWith('.gz') && names.includes(name.slice(0, -3))) && !name.endsWith('.draft'))
  const texts = [...whole.filter((name) => name !== '0.log').sort(), ...whole.filter((name) => name === '0.log')].map(
    (name) => textIfPresent(join(directory, name)) ?? '',
  )
  return texts
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((line) => line.replace(/^\S+ (stdout|stderr) [FP] /, ''))
}
