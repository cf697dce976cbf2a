/** A kubelet in a process of its own, with a containerd and an API server of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { joiningClusterRoleBindings, joiningGroup } from '#cmd/init/joining-objects.ts'
import { startTestContainerd, type TestContainerd, unmountBelow } from './containerd.ts'
import { freePort, type RunningCluster, startCluster } from './running-cluster.ts'

const main = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')

/** A start that takes longer hangs. */
const startLimitMs = 60_000

export type LoneKubelet = AsyncDisposable & {
  readonly directory: string
  readonly manifests: string
  readonly containerd: TestContainerd
  readonly agent: ChildProcess
  readonly cluster: RunningCluster
  /** The API server again, with the same data and port. */
  restartCluster(): Promise<void>
  /** What the agent wrote so far. */
  output(): string
}

/** As `typernetes init` leaves it: whoever has a token may ask for a node's certificate, and gets it. */
async function allowBootstrap(kubeconfig: string): Promise<void> {
  using client = await openClient({ kubeconfig })
  for (const binding of joiningClusterRoleBindings) await client.create(ClusterRoleBinding, binding)
}

/** The node is called `alone`. Its certificate comes by TLS bootstrap. */
export async function startLoneKubelet(): Promise<LoneKubelet> {
  await using begun = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn-alone-'))
  begun.defer(() => {
    unmountBelow(directory)
    rmSync(directory, { recursive: true, force: true })
  })
  const containerd = begun.use(await startTestContainerd({ podCidr: `10.${100 + (process.pid % 90)}.1.0/24` }))
  const tokens = join(directory, 'tokens')
  writeFileSync(tokens, `bootstrap-token,system:bootstrap:abcdef,1,"${joiningGroup}"\n`)
  const port = await freePort()
  const startApi = () => startCluster(['--token-auth-file', tokens], directory, port)
  let cluster = await startApi()
  begun.defer(async () => void (await cluster.stop('SIGKILL')))
  const manifests = join(directory, 'manifests')
  mkdirSync(manifests)
  await allowBootstrap(cluster.kubeconfig)
  const bootstrap = join(directory, 'bootstrap.kubeconfig')
  const admin = readFileSync(cluster.kubeconfig, 'utf8')
  writeFileSync(bootstrap, admin.replace(/client-certificate-data: .*/, 'token: bootstrap-token').replace(/ *client-key-data: .*\n/, ''))
  const config = join(directory, 'kubelet.yaml')
  const kind = 'kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n'
  writeFileSync(config, `${kind}podLogsDir: ${join(directory, 'logs')}\nmaxPods: 200\n`)
  const flags = {
    'bootstrap-kubeconfig': bootstrap,
    kubeconfig: join(directory, 'node.kubeconfig'),
    'rotate-certificates': 'true',
    config,
    'container-runtime-endpoint': `unix://${containerd.socket}`,
    'hostname-override': 'alone',
    'node-labels': 'disk=ssd',
    'cgroup-root': `tn-alone-${process.pid}`,
    'root-dir': join(directory, 'kubelet'),
    'pod-manifest-path': manifests,
    port: String(await freePort()),
    'healthz-port': String(await freePort()),
  }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])
  const agent = spawn(process.execPath, [main, 'kubelet', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  begun.defer(() => void agent.kill('SIGKILL'))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      if (output.includes('is running')) resolve()
    }
    agent.stdout.on('data', read)
    agent.stderr.on('data', read)
    const timer = setTimeout(() => reject(new Error(`the agent was not at work in time: ${output}`)), startLimitMs)
    timer.unref()
    agent.once('exit', (code) => reject(new Error(`the agent ended with ${code}: ${output}`)))
  })
  const running = begun.move()
  return {
    ...{ directory, manifests, containerd, agent },
    get cluster() {
      return cluster
    },
    async restartCluster() {
      cluster = await startApi()
    },
    output: () => output,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
