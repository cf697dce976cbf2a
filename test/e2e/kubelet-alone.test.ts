/** A kubelet and a controller manager in processes of their own: the kubelet needs the API server only now and then. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { GrpcError, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl, type KubectlResult, kubectl as kubectlAt, kubectlBeside } from '../support/kubectl.ts'
import { type LoneKubelet, startLoneKubelet } from '../support/lone-kubelet.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false)
const image = 'typernetes.test/busybox:1'

// Higher than the test's own: to lower it takes a right that root has not got everywhere.
const oomScore = Math.min(1000, Number(existsSync('/proc/self/oom_score_adj') && readFileSync('/proc/self/oom_score_adj', 'utf8')) + 10)
const settings = [
  ...['podPidsLimit: 100', 'containerLogMaxSize: 1Mi', 'containerLogMaxFiles: 2', 'containerLogMonitorInterval: 3s'],
  ...[`oomScoreAdj: ${oomScore}`, ''],
].join('\n')

/** A socket that leads to the same runtime, and a line in a file for each who came by it: a process of its own, since tests wait here. */
const forwarder = `const { appendFileSync } = require('node:fs'), { connect, createServer } = require('node:net')
const [path, socket, record] = process.argv.slice(1)
createServer((caller) => {
  appendFileSync(record, 'asked\\n')
  const runtime = connect(socket)
  caller.pipe(runtime).pipe(caller)
  for (const [one, other] of [[caller, runtime], [runtime, caller]]) one.on('error', () => other.destroy()).on('close', () => other.destroy())
}).listen(path)`
let imageService: ChildProcess | undefined

/** Resolves once it can be reached: the kubelet looks for it when it starts. */
async function serveImages(directory: string, socket: string): Promise<string> {
  const path = join(directory, 'images.sock')
  imageService = spawn(process.execPath, ['-e', forwarder, path, socket, join(directory, 'asked-for-images')], { stdio: 'inherit' })
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20))
  return `unix://${path}`
}

async function flagsOfTest(directory: string, socket: string): Promise<Record<string, string>> {
  const problems = join(directory, 'problems.json')
  const rule = { type: 'permanent', condition: 'KernelOld', reason: 'KernelIsOld', path: join(directory, 'check-kernel') }
  const well = { type: 'KernelOld', reason: 'KernelIsNew', message: 'the kernel is new' }
  const pluginConfig = { invoke_interval: '500ms' }
  writeFileSync(rule.path, `#!/bin/sh\ncat "${directory}/old-kernel" && exit 1 || exit 0\n`, { mode: 0o755 })
  writeFileSync(problems, JSON.stringify({ plugin: 'custom', source: 'kernel', pluginConfig, conditions: [well], rules: [rule] }))
  return {
    'dynamic-config-dir': join(directory, 'dynamic'),
    'node-problem-plugins': problems,
    'image-service-endpoint': await serveImages(directory, socket),
  }
}

describe('a kubelet alone', { skip: whyNot, timeout: 600_000 }, () => {
  let alone: LoneKubelet
  let kubectl: Kubectl

  before(async () => {
    alone = await startLoneKubelet({ flags: flagsOfTest, settings })
    kubectl = kubectlAt(newest?.path ?? '', '', alone.cluster.kubeconfig)
  })
  after(async () => {
    await alone?.[Symbol.asyncDispose]()
    imageService?.kill()
  })

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    const why = () => `${stderr}\n${kubectl.run(['get', 'events,pods,pvc,pv']).stdout}\n${alone.output()}`
    assert.equal(exitCode, 0, exitCode === 0 ? '' : `kubectl ${args.join(' ')}: ${why()}`)
    return stdout
  }
  /** Each try starts a kubectl, which takes its time. */
  const until = (holds: () => boolean) => {
    for (const endMs = Date.now() + 90_000; !holds(); ) assert.ok(Date.now() < endMs, `${holds}\n${alone.output()}`)
  }
  const podNamed = (name: string, script: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      ...{ nodeName: 'alone', restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...more },
      containers: [{ name: 'main', image, command: ['sh', '-c', script], ...(more as { container?: object }).container }],
    },
  })

  test('the node is there with its labels, and ready', () => {
    ok(['wait', '--for=condition=Ready', 'node/alone', '--timeout=60s'])
    assert.equal(ok(['get', 'node', 'alone', '-o', 'jsonpath={.metadata.labels.disk}']), 'ssd')
  })

  test('the images that it tells of are those of the image service (--image-service-endpoint)', () => {
    until(() => kubectl.run(['get', 'node', 'alone', '-o', 'jsonpath={.status.images[*].names}']).stdout.includes(image))
    assert.match(readFileSync(join(alone.directory, 'asked-for-images'), 'utf8'), /asked/)
  })

  test('the kernel kills it for want of memory as soon or as late as its configuration says', () => {
    assert.equal(readFileSync(`/proc/${alone.agentPid}/oom_score_adj`, 'utf8').trim(), String(oomScore))
  })

  test('a static pod runs, is seen in the API, comes back there when it is deleted, and goes with its file', () => {
    const file = join(alone.manifests, 'web.yaml')
    writeFileSync(
      file,
      JSON.stringify({ ...podNamed('web', 'sleep 3600'), spec: { containers: [{ name: 'main', image, command: ['sleep', '3600'] }] } }),
    )
    const visible = () => kubectl.run(['get', 'pod', 'web-alone', '-o', 'jsonpath={.status.phase}']).stdout === 'Running'
    until(visible)
    ok(['delete', 'pod', 'web-alone', '--wait=false'])
    until(visible)
    rmSync(file)
    until(() => kubectl.run(['get', 'pod', 'web-alone']).exitCode !== 0)
  })

  test('a gRPC probe asks, and what it hears decides', async () => {
    let answer = 2
    const check = async () => {
      if (answer === 0) throw new GrpcError(grpcCodes.unavailable, 'not now')
      return Uint8Array.from([8, answer])
    }
    const server = await startGrpcServer({ address: '0.0.0.0:0', handlers: { '/grpc.health.v1.Health/Check': { answer: check } } })
    // The server is in this process, which may not stand still while it is asked.
    const beside = kubectlBeside(newest?.path ?? '', alone.cluster.kubeconfig)
    const awaits = async (args: readonly string[], isAnswer: (result: KubectlResult) => boolean) => {
      for (const endMs = Date.now() + 90_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
        const result = await beside(args)
        if (isAnswer(result)) return
        assert.ok(Date.now() < endMs, `kubectl ${args.join(' ')}: ${result.stdout}${result.stderr}\n${alone.output()}`)
      }
    }
    try {
      const readinessProbe = { grpc: { port: server.port }, periodSeconds: 1, timeoutSeconds: 60 }
      const pod = podNamed('asked', 'sleep 3600', { hostNetwork: true })
      Object.assign(pod.spec.containers[0] as object, { readinessProbe })
      ok(['create', '-f', '-'], JSON.stringify(pod))
      const events = [
        'get',
        'events',
        '--field-selector',
        'involvedObject.name=asked,reason=Unhealthy',
        '-o',
        'jsonpath={.items[*].message}',
      ]
      await awaits(events, ({ stdout }) => stdout.includes('NOT_SERVING'))
      answer = 1
      await awaits(['wait', '--for=condition=Ready', 'pod/asked', '--timeout=60s'], ({ exitCode }) => exitCode === 0)
      ok(['delete', 'pod', 'asked'])
    } finally {
      await server.close()
    }
  })

  test('pods that fill their disk, eat memory, fork without end, flood their log or will not end do not take the node down', () => {
    const greedy = podNamed('greedy', 'head -c 5000000 /dev/zero > /full/file; sleep 3600', {
      volumes: [{ name: 'full', emptyDir: { sizeLimit: '1Mi' } }],
    })
    Object.assign(greedy.spec.containers[0] as object, { volumeMounts: [{ name: 'full', mountPath: '/full' }] })
    const hungry = podNamed('hungry', 'x=0123456789abcdef; while :; do x="$x$x"; done')
    Object.assign(hungry.spec.containers[0] as object, { resources: { limits: { memory: '32Mi' } } })
    const pods = [
      greedy,
      hungry,
      // More than the hundred that the node allows; one that cannot fork ends the script, which is no matter.
      podNamed('forking', 'for i in $(seq 300); do sleep 3600 & done; sleep 3600'),
      // Some ten megabytes a second.
      podNamed('flooding', "while :; do head -c 500000 /dev/zero | tr '\\0' 'x' | fold -w 100; sleep 0.05; done"),
      podNamed('deaf', "trap '' TERM; while :; do sleep 1; done"),
    ]
    ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }))
    ok(['wait', '--for=jsonpath={.status.containerStatuses[0].state.running}', 'pod/deaf', 'pod/flooding', '--timeout=120s'])
    // That memory was the reason containerd may hear only after the end itself, and says then that it failed.
    ok(['wait', '--for=jsonpath={.status.containerStatuses[0].state.terminated.exitCode}=137', 'pod/hungry', '--timeout=120s'])
    ok(['wait', '--for=jsonpath={.status.reason}=Evicted', 'pod/greedy', '--timeout=120s'])
    assert.equal(ok(['get', 'pod', 'greedy', '-o', 'jsonpath={.status.phase}']), 'Failed')
    assert.match(ok(['get', 'pod', 'greedy', '-o', 'jsonpath={.status.message}']), /EmptyDir volume "full" exceeds the limit "1Mi"/)
    // The node has hundreds of processes to start on the way there.
    until(() => /can't fork|Resource temporarily unavailable/.test(kubectl.run(['logs', 'forking']).stdout))
    // It is put aside at a megabyte, or what was written since the last look at it, and two such files are kept.
    const logs = join(alone.directory, 'logs')
    const rotated = () => spawnSync('find', [logs, '-path', '*_flooding_*', '-name', '0.log.*'], { encoding: 'utf8' }).stdout
    until(() => rotated() !== '')
    assert.ok(rotated().trim().split('\n').length <= 3, rotated())
    ok(['delete', 'pod', 'greedy', 'hungry', 'forking', 'flooding', 'deaf', '--timeout=120s'])
    ok(['wait', '--for=condition=Ready', 'node/alone', '--timeout=60s'])
  })

  test('three pods with claims write on while the agent is killed, and it takes over them and their volumes', async () => {
    const names = ['db-0', 'db-1', 'db-2']
    ok(['wait', '--for=create', 'storageclass/standard', '--timeout=60s'])
    ok(['apply', '-f', '-'], readFileSync(join(import.meta.dirname, 'storage', 'counting.yaml'), 'utf8'))
    ok(['rollout', 'status', 'sts/db', '--timeout=90s'])
    const volumeOf = (name: string) => {
      const volume = ok(['get', 'pvc', `data-${name}`, '-o', 'jsonpath={.spec.volumeName}'])
      const [, directory = ''] = ok(['get', 'pv', volume, '-o', 'jsonpath={.spec.csi.volumeHandle}']).split('/')
      return join(alone.directory, 'kubelet', 'local-storage', 'volumes', directory, 'data', 'numbers')
    }
    const containers = () => ok(['get', 'pods', '-l', 'app=db', '-o', 'jsonpath={.items[*].status.containerStatuses[0].containerID}'])
    const files = names.map(volumeOf)
    /** What a pod has counted, once it has begun: every number once, however often it was killed. */
    const counted = (file: string): number => {
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
      const numbers = lines.map(Number)
      assert.deepEqual(
        numbers,
        numbers.map((_, index) => index + 1),
      )
      return numbers.length
    }
    const growsTo = async (least: readonly number[]) => {
      const deadlineMs = Date.now() + 90_000
      while (files.some((file, index) => counted(file) < (least[index] ?? 0))) {
        assert.ok(Date.now() < deadlineMs, `${files.map(counted)} instead of ${least}\n${alone.output()}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const before = containers()
    const restart = await alone.killAgent()
    await growsTo(files.map((file) => counted(file) + 3))
    await restart()
    ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=db', '--timeout=60s'])
    assert.equal(containers(), before)
    // While a pod is on its way out, and its volume with it.
    ok(['delete', 'pod', 'db-1', '--wait=false'])
    await (await alone.killAgent())()
    const later = files.map((file) => counted(file) + 3)
    await growsTo(later)
    ok(['delete', 'sts', 'db', '--timeout=60s'])
    ok(['delete', 'pod', '-l', 'app=db', '--now', '--ignore-not-found', '--timeout=60s'])
    ok(['delete', 'pvc', '--all', '--timeout=60s'])
    ok(['wait', '--for=delete', 'pv', '--all', '--timeout=60s'])
    assert.deepEqual(files.filter(existsSync), [])
  })

  test('a problem that a plugin finds is a condition of the node', () => {
    const found = () => ok(['get', 'node', 'alone', '-o', 'jsonpath={.status.conditions[?(@.type=="KernelOld")].status}'])
    ok(['wait', '--for=condition=KernelOld=false', 'node/alone', '--timeout=60s'])
    writeFileSync(join(alone.directory, 'old-kernel'), 'of last year')
    ok(['wait', '--for=condition=KernelOld=true', 'node/alone', '--timeout=60s'])
    assert.equal(found(), 'True')
    rmSync(join(alone.directory, 'old-kernel'))
    ok(['wait', '--for=condition=KernelOld=false', 'node/alone', '--timeout=60s'])
  })

  test('the kubelet takes its configuration from a config map that its node names, and pods run on', () => {
    ok(['apply', '-f', '-'], JSON.stringify(podNamed('runs-on', 'sleep 3600')))
    ok(['wait', '--for=condition=Ready', 'pod/runs-on', '--timeout=60s'])
    const containerId = () => ok(['get', 'pod', 'runs-on', '-o', 'jsonpath={.status.containerStatuses[0].containerID}'])
    const before = containerId()
    const text = readFileSync(join(alone.directory, 'kubelet.yaml'), 'utf8').replace('maxPods: 200', 'maxPods: 77')
    ok(['create', 'configmap', 'node-config', '-n', 'kube-system', `--from-literal=kubelet=${text}`])
    const source = { configMap: { namespace: 'kube-system', name: 'node-config', kubeletConfigKey: 'kubelet' } }
    ok(['patch', 'node', 'alone', '-p', JSON.stringify({ spec: { configSource: source } })])
    ok(['wait', '--for=jsonpath={.status.config.active.configMap.name}=node-config', 'node/alone', '--timeout=60s'])
    ok(['wait', '--for=jsonpath={.status.capacity.pods}=77', 'node/alone', '--timeout=60s'])
    ok(['patch', 'node', 'alone', '-p', JSON.stringify({ spec: { configSource: null } })])
    ok(['wait', '--for=jsonpath={.status.capacity.pods}=200', 'node/alone', '--timeout=60s'])
    until(() => {
      const { exitCode, stdout } = kubectl.run(['get', 'node', 'alone', '-o', 'jsonpath={.status.config}'])
      return exitCode === 0 && stdout === ''
    })
    ok(['wait', '--for=condition=Ready', 'node/alone', 'pod/runs-on', '--timeout=60s'])
    assert.equal(containerId(), before)
  })

  test('while the API server is away pods run on, and what became of them is told later', async () => {
    const gate = join(alone.directory, 'gate')
    mkdirSync(gate)
    const volumes = [{ name: 'gate', hostPath: { path: gate } }]
    const waiting = podNamed('waiting', 'until [ -e /gate/go ]; do sleep 0.05; done; touch /gate/gone; exit 5', { volumes })
    Object.assign(waiting.spec.containers[0] as object, { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] })
    ok(['create', '-f', '-'], JSON.stringify(waiting))
    ok(['create', '-f', '-'], JSON.stringify(podNamed('lasting', 'sleep 3600')))
    ok(['wait', '--for=condition=Ready', 'pod/lasting', 'pod/waiting', '--timeout=60s'])
    const before = ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].containerID}'])
    await alone.cluster.stop('SIGKILL')
    writeFileSync(join(gate, 'go'), '')
    for (let tries = 0; !existsSync(join(gate, 'gone')); tries++) {
      assert.ok(tries < 2400, 'the pod runs on')
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    await alone.restartCluster()
    ok(['wait', '--for=jsonpath={.status.phase}=Failed', 'pod/waiting', '--timeout=60s'])
    assert.equal(ok(['get', 'pod', 'waiting', '-o', 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}']), '5')
    assert.equal(ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].containerID}']), before)
    assert.equal(ok(['get', 'pod', 'lasting', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}']), '0')
    ok(['delete', 'pod', 'waiting', 'lasting'])
  })
})
