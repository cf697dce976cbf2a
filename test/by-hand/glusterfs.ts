/**
 * Volumes of a real Gluster server, through FUSE, in real containers: `node --test test/by-hand/glusterfs.ts`. Needs root, containerd and
 * Debian's glusterfs-server and glusterfs-client. Not with the other tests: the server alone takes longer to start than most of them.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const lacks = ['glusterd', 'gluster', 'mount.glusterfs'].filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
const whyNot =
  whyNoContainers() ||
  (newest === undefined ? 'kubectl is not installed' : false) ||
  (lacks.length > 0 ? `not installed: ${lacks.join(', ')}` : false)

/** Gluster refuses to serve on the loopback. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address

/** A server with one volume `kept` on one disk. */
async function startGluster(): Promise<AsyncDisposable & { brick: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-gluster-'))
  for (const name of ['work', 'run', 'brick']) mkdirSync(join(directory, name))
  const socket = join(directory, 'cli.sock')
  const options = {
    'working-directory': join(directory, 'work'),
    'run-directory': join(directory, 'run'),
    'glusterd-sockfile': socket,
    'transport-type': 'socket',
    'transport.socket.listen-port': '24007',
    'transport.socket.bind-address': address ?? '',
    'max-port': '60999',
  }
  const lines = Object.entries(options).map(([name, value]) => `    option ${name} ${value}\n`)
  writeFileSync(join(directory, 'glusterd.vol'), `volume management\n    type mgmt/glusterd\n${lines.join('')}end-volume\n`)
  const server = spawn('glusterd', ['-N', '-f', join(directory, 'glusterd.vol'), '-l', join(directory, 'log')], { stdio: 'ignore' })
  const gluster = (...args: string[]) => spawnSync('gluster', [`--glusterd-sock=${socket}`, '--mode=script', ...args], { encoding: 'utf8' })
  const ok = (...args: string[]) => {
    const { status, stderr } = gluster(...args)
    assert.equal(status, 0, `gluster ${args.join(' ')}: ${stderr}`)
  }
  const deadlineMs = Date.now() + 90_000
  while (!gluster('pool', 'list').stdout.includes('localhost')) {
    assert.ok(Date.now() < deadlineMs && server.exitCode === null, readFileSync(join(directory, 'log'), 'utf8'))
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  ok('volume', 'create', 'kept', `${address}:${join(directory, 'brick', 'kept')}`, 'force')
  ok('volume', 'start', 'kept')
  return {
    brick: join(directory, 'brick', 'kept'),
    async [Symbol.asyncDispose]() {
      gluster('volume', 'stop', 'kept', 'force')
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGTERM')
      await ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

for (const runtime of ['cri', 'embedded']) {
  describe(`volumes of a Gluster server, runtime ${runtime}`, { skip: whyNot, timeout: 240_000 }, () => {
    const started = new AsyncDisposableStack()
    let gluster: Awaited<ReturnType<typeof startGluster>>
    let cluster: RealCluster
    let kubectl: Kubectl

    before(async () => {
      gluster = started.use(await startGluster())
      // Debian's mount.glusterfs is a script that trips over spaces in paths.
      cluster = started.use(await startRealCluster({ flags: ['--runtime', runtime], prefix: 'tn-gluster-cluster-' }))
      kubectl = cluster.kubectlAt(newest?.path ?? '')
    })
    after(() => started.disposeAsync())

    const ok = (args: readonly string[], input?: string): string => {
      const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
      const why = () => `${stderr}\n${kubectl.run(['get', 'events,pods,pvc,pv', '-A']).stdout}`
      assert.equal(exitCode, 0, exitCode === 0 ? '' : `kubectl ${args.join(' ')}: ${why()}`)
      return stdout
    }

    test('in the pod, through a claim, in part and read-only: all see the same files', () => {
      ok(['create', 'namespace', 'apart'])
      ok(['apply', '-f', '-'], readFileSync(join(import.meta.dirname, 'glusterfs.yaml'), 'utf8').replaceAll('ADDRESS', address ?? ''))
      ok(['wait', '-n', 'apart', '--for=condition=Ready', 'pod', '--all', '--timeout=90s'])
      const seen = (pod: string, script: string) => ok(['exec', '-n', 'apart', pod, '--', 'sh', '-c', script])
      seen('inline', 'mkdir -p /data/part; echo written > /data/part/file')
      assert.equal(readFileSync(join(gluster.brick, 'part', 'file'), 'utf8'), 'written\n')
      assert.equal(seen('claimed', 'cat /data/part/file; cat /part/file'), 'written\nwritten\n')
      assert.match(seen('claimed', 'touch /part/x 2>&1; true'), /Read-only file system/)
      assert.match(seen('inline', 'grep " /data " /proc/mounts'), /fuse\.glusterfs/)
    })

    test('with its pods nothing is left mounted, and the files stay', async () => {
      ok(['delete', 'pod', '-n', 'apart', '--all', '--timeout=60s'])
      const mounted = () =>
        readFileSync('/proc/mounts', 'utf8')
          .split('\n')
          .filter((line) => line.includes('fuse.glusterfs') && line.includes(cluster.dataDir))
      // The API forgets pods without a grace period before the node does.
      const deadlineMs = Date.now() + 60_000
      while (mounted().length > 0 && Date.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 100))
      assert.deepEqual(mounted(), [])
      assert.equal(readFileSync(join(gluster.brick, 'part', 'file'), 'utf8'), 'written\n')
    })
  })
}
