/** Logs, exec, attach, port-forward and cp of real containers, by kubectls that speak SPDY alone, by those that speak WebSocket, and by ours. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import { emptyContainerPlan, emptySandboxPlan } from '#kubelet/runtimes/plans.ts'
import { startTestContainerd, type TestContainerd, whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, portForward } from '../support/kubectl.ts'
import { type NodeWithServer, startNodeWithServer } from '../support/node-with-server.ts'
import { testImage } from '../support/test-image.ts'

const found = installedKubectls()
/** The newest that speaks SPDY only, and the newest of all. */
const kubectls = [
  found.filter(({ version }) => minor(version) < 30).at(-1),
  found.filter(({ version }) => minor(version) > 30).at(-1),
  { version: 'own', path: ownKubectl() },
].filter((kubectl) => kubectl !== undefined)
const skip = whyNoContainers() || (kubectls.length === 0 ? 'there is no kubectl here' : false)

let containerd: TestContainerd
let criClient: CriClient
let runtime: CriRuntime
let node: NodeWithServer
/** Those that do not end by themselves. */
const children = new Set<ChildProcess>()

const talker: V1Container = {
  name: 'talker',
  image: testImage,
  command: ['sh', '-c', 'i=0; while [ $i -lt 5 ]; do i=$((i+1)); echo "out $i"; echo "err $i" >&2; done; exec sleep 1000'],
}
const short: V1Container = { name: 'short', image: testImage, command: ['sh', '-c', 'echo begins; sleep 1; echo ends'] }
const listener: V1Container = {
  name: 'listener',
  image: testImage,
  stdin: true,
  command: ['sh', '-c', 'while read -r line; do echo "heard $line"; done; echo over; sleep 1000'],
}
const web: V1Container = {
  name: 'web',
  image: testImage,
  command: ['sh', '-c', 'mkdir -p /www && cd /www && dd if=/dev/urandom of=big bs=1M count=50 2>/dev/null && exec httpd -f -p 8080'],
}

if (!skip) {
  before(async () => {
    containerd = await startTestContainerd()
    criClient = await containerd.client()
    runtime = await CriRuntime.start({
      ...{ client: criClient, clock: systemClock, logger: silentLogger, files: nodeFiles },
      capacity: { memoryBytes: 8 << 30, hugePageSizes: [] },
      logRotation: { maxBytes: 5000, maxFiles: 10, everyMs: 300 },
    })
    node = await startNodeWithServer(runtime)
    await Promise.all([start('talker', talker), start('web', web), start('listener', listener)])
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await node?.[Symbol.asyncDispose]()
    runtime?.stop()
    criClient?.[Symbol.dispose]()
    await containerd?.[Symbol.asyncDispose]()
  })
}

/** A pod of one container, which runs. */
async function start(name: string, container: V1Container): Promise<V1Pod> {
  const pod = await node.createPod(name, { containers: [container] })
  const { signal } = new AbortController()
  const logDirectory = join(containerd.directory, 'logs', `default_${name}_${pod.metadata.uid}`)
  const sandbox = await runtime.runSandbox(pod, { ...emptySandboxPlan, hostname: name, logDirectory }, signal)
  const request = { sandboxId: sandbox.id, pod, container: pod.spec.containers[0] as V1Container, attempt: 0 }
  const id = await runtime.createContainer(
    { ...request, plan: { ...emptyContainerPlan, imageRef: testImage, command: container.command ?? [] } },
    signal,
  )
  await runtime.startContainer(id, signal)
  return pod
}

function minor(version: string): number {
  return Number(version.split('.')[1])
}

/** Ours, as a program. */
function ownKubectl(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'own-kubectl-')), 'kubectl')
  const program = join(import.meta.dirname, '../../src/cmd/main.ts')
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${program}' kubectl "$@"\n`, { mode: 0o755 })
  return path
}

/** Waits until the output of `args` is as wanted, or the test's time is up. */
async function until(kubectl: string, args: string[], isWanted: (stdout: string) => boolean): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const { stdout, stderr } = await node.run(kubectl, args)
    if (isWanted(stdout)) return stdout
    if (attempt === 900) throw new Error(`${args.join(' ')} gives only: ${stdout}${stderr}`)
    await systemClock.sleep(100)
  }
}

/** It makes 50 MB first. */
async function webIsUp(kubectl: string): Promise<void> {
  const command = ['exec', 'web', '--', 'sh', '-c', 'wget -qO- http://127.0.0.1:8080/big | wc -c']
  await until(kubectl, command, (stdout) => stdout === '52428800\n')
}

for (const { path: kubectl, version } of kubectls) {
  const title = `kubectl ${version}`
  const options = { skip, timeout: 240_000 }

  test(`${title}: logs, all of them and parts`, options, async () => {
    const whole = await until(kubectl, ['logs', 'talker'], (stdout) => stdout.split('\n').length === 11)
    assert.deepEqual(
      whole.split('\n').filter((line) => line.startsWith('out')),
      ['out 1', 'out 2', 'out 3', 'out 4', 'out 5'],
    )
    const { stdout: tail } = await node.run(kubectl, ['logs', 'talker', '--tail=2', '--timestamps', '-c', 'talker'])
    assert.match(tail, /^(?:20\d\d-\S+\.\d{9}\S+ (?:out|err) \d\n){2}$/)
    const { stdout: limited } = await node.run(kubectl, ['logs', 'talker', '--limit-bytes=7'])
    assert.equal(limited, whole.slice(0, 7))
    const { exitCode, stderr } = await node.run(kubectl, ['logs', 'talker', '--previous'])
    assert.equal(exitCode, 1)
    assert.match(stderr, /\(BadRequest\): previous terminated container "talker" in pod "talker" not found/)
  })

  test(`${title}: logs are followed until the container ends`, options, async () => {
    const name = `short-${version.replaceAll('.', '-')}`
    await start(name, short)
    const { exitCode, stdout } = await node.run(kubectl, ['logs', '-f', name])
    assert.deepEqual([exitCode, stdout], [0, 'begins\nends\n'])
  })

  test(`${title}: exec gives output, errors and exit codes`, options, async () => {
    const ran = await node.run(kubectl, ['exec', 'talker', '--', 'sh', '-c', 'echo to out; echo to err >&2; exit 42'])
    assert.equal(ran.exitCode, 42)
    assert.equal(ran.stdout, 'to out\n')
    assert.match(ran.stderr, /^to err\ncommand terminated with exit code 42\n$/)
    const { stderr: log } = await node.run(kubectl, ['-v=5', 'exec', 'talker', '--', 'true'])
    assert.doesNotMatch(log, /fallback/, 'it had to try SPDY after all')
    const missing = await node.run(kubectl, ['exec', 'talker', '--', 'no-such-program'])
    assert.notEqual(missing.exitCode, 0)
    assert.match(missing.stderr, /no-such-program/)
  })

  test(`${title}: exec takes a command line of 100 KB`, options, async () => {
    const { exitCode, stdout, stderr } = await node.run(kubectl, [
      'exec',
      'talker',
      '--',
      'sh',
      '-c',
      'echo $#',
      ...Array(1000).fill('x'.repeat(100)),
    ])
    assert.deepEqual([exitCode, stdout, stderr], [0, '999\n', ''])
  })

  test(`${title}: exec takes input to its end`, options, async () => {
    const bytes = randomBytes(3_000_000)
    const { exitCode, stdout } = await node.run(kubectl, ['exec', '-i', 'talker', '--', 'sha256sum'], bytes)
    assert.deepEqual([exitCode, stdout.split(' ')[0]], [0, createHash('sha256').update(bytes).digest('hex')])
  })

  test(`${title}: exec with a terminal has its size`, options, async () => {
    // The size comes a moment after the start.
    const untilSized = 'for i in $(seq 300); do stty size | grep -q "33 99" && break; sleep 0.1; done'
    // `script` gives kubectl a terminal of its own.
    const command = `stty rows 33 cols 99; ${kubectl} exec -it talker -- sh -c '${untilSized}; stty size; test -t 0 && echo terminal'`
    const { stdout } = await node.run('script', ['-qec', command, '/dev/null'])
    assert.match(stdout, /33 99\r?\n/)
    assert.match(stdout, /terminal/)
  })

  test(`${title}: attach speaks to the container`, options, async () => {
    const { stdout } = await attached(kubectl, `hello ${version}`)
    assert.match(stdout, new RegExp(`heard hello ${version}`))
  })

  test(`${title}: port-forward carries 50 MB, and several connections at once`, options, async () => {
    await webIsUp(kubectl)
    const { stdout: sum } = await node.run(kubectl, ['exec', 'web', '--', 'sha256sum', '/www/big'])
    await using forward = await portForward({ path: kubectl, kubeconfig: node.kubeconfig }, 'pod/web', 8080)
    const sums = await Promise.all([download(`${forward.url}/big`), download(`${forward.url}/big`), download(`${forward.url}/none`)])
    assert.deepEqual(sums.slice(0, 2), [sum.split(' ')[0], sum.split(' ')[0]])
  })

  test(`${title}: cp goes both ways`, options, async () => {
    const [there, back] = [join(node.directory, `there-${version}`), join(node.directory, `back-${version}`)]
    const bytes = randomBytes(20 << 20)
    writeFileSync(there, bytes)
    const up = await node.run(kubectl, ['cp', there, `talker:/tmp/${version}`])
    assert.equal(up.exitCode, 0, up.stderr)
    const down = await node.run(kubectl, ['cp', `talker:/tmp/${version}`, back])
    assert.equal(down.exitCode, 0, down.stderr)
    assert.ok(bytes.equals(readFileSync(back)))
  })

  test(`${title}: what cannot be is refused in upstream's words`, options, async () => {
    const container = await node.run(kubectl, ['exec', 'talker', '-c', 'none', '--', 'ls'])
    assert.match(container.stderr, /container none (?:is not valid for pod|not found in pod) talker/)
    const pod = await node.run(kubectl, ['logs', 'none'])
    assert.match(pod.stderr, /pods "none" not found/)
  })
}

test('older WebSocket clients forward ports, a pair of channels for each', { skip, timeout: 240_000 }, async () => {
  await webIsUp(kubectls[0]?.path ?? '')
  const { certificatePem: cert, privateKeyPem: key } = node.keys.identity('admin')
  const url = `${node.url.replace('https', 'wss')}/api/v1/namespaces/default/pods/web/portforward?ports=8080`
  const socket = new WebSocket(url, 'v4.channel.k8s.io', { cert, key, ca: node.keys.authority('ca').certificatePem })
  const heard: Record<number, Buffer> = {}
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('open', () => socket.send(Buffer.from('\0GET /none HTTP/1.0\r\n\r\n')))
      socket.on('message', (data: Buffer) => {
        const channel = data[0] ?? 0
        heard[channel] = Buffer.concat([heard[channel] ?? Buffer.alloc(0), data.subarray(1)])
        if (heard[0]?.includes('404 Not Found')) resolve()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`closed after ${JSON.stringify(heard)}`)))
    })
  } finally {
    socket.removeAllListeners('close')
    socket.terminate()
  }
  // Each channel begins with the number of its port.
  assert.deepEqual([heard[0]?.readUInt16LE(0), heard[1]?.readUInt16LE(0)], [8080, 8080])
})

test('logs are followed through rotations', { skip, timeout: 240_000 }, async () => {
  const [kubectl] = kubectls
  assert.ok(kubectl)
  const long = 'x'.repeat(1000)
  const command = ['sh', '-c', `i=0; while [ ! -e /tmp/end ]; do echo line $i ${long}; i=$((i+1)); sleep 0.1; done; echo $i lines`]
  const pod = await start('rotated', { name: 'c', image: testImage, command })
  const following = node.run(kubectl.path, ['logs', '-f', 'rotated'])
  const logs = join(containerd.directory, 'logs', `default_rotated_${pod.metadata.uid}`, 'c')
  while ((await nodeFiles.list(logs).catch(() => [])).length < 4) await systemClock.sleep(50)
  await node.run(kubectl.path, ['exec', 'rotated', '--', 'touch', '/tmp/end'])
  const { stdout } = await following
  const numbers = stdout.split('\n').flatMap((line) => /^line (\d+) x{1000}$/.exec(line)?.[1] ?? [])
  const first = Number(numbers[0])
  const count = Number(/^(\d+) lines$/m.exec(stdout)?.[1])
  assert.deepEqual(
    numbers,
    Array.from({ length: count - first }, (_, index) => String(first + index)),
  )
})

async function attached(kubectl: string, line: string): Promise<{ stdout: string }> {
  const child = spawn(kubectl, ['--kubeconfig', node.kubeconfig, 'attach', '-i', 'listener'], { stdio: ['pipe', 'pipe', 'pipe'] })
  children.add(child)
  let stdout = ''
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (data: Buffer) => {
        stdout += String(data)
        if (stdout.includes(`heard ${line}`)) resolve()
      })
      child.on('exit', (code) => reject(new Error(`kubectl attach ended with ${code}: ${stdout}`)))
      child.stdin.write(`${line}\n`)
    })
  } finally {
    child.removeAllListeners('exit')
    child.kill()
  }
  return { stdout }
}

function download(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, async (response) => {
      const hash = createHash('sha256')
      for await (const piece of response) hash.update(piece as Buffer)
      resolve(hash.digest('hex'))
    }).on('error', reject)
  })
}
