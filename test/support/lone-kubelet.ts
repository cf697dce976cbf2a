/** A kubelet in a process of its own, with a containerd, a controller manager and an API server of its own. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { joiningClusterRoleBindings, joiningGroup } from '#cmd/init/joining-objects.ts'
import { type ComponentProcess, startComponent } from './component-process.ts'
import { startTestContainerd, type TestContainerd, unmountBelow } from './containerd.ts'
import { freePort } from './free-port.ts'
import { type RunningCluster, startCluster } from './running-cluster.ts'

export type LoneKubeletOptions = {
  /** Flags beside the usual ones, by the directory of everything and the socket of the runtime. */
  flags?(directory: string, socket: string): Promise<Record<string, string>>
  /** Lines for its configuration file. */
  settings?: string
}

export type LoneKubelet = AsyncDisposable & {
  readonly directory: string
  readonly manifests: string
  readonly containerd: TestContainerd
  readonly agentPid: number
  readonly cluster: RunningCluster
  /** The API server again, with the same data and port. */
  restartCluster(): Promise<void>
  /** The agent is killed; resolves with what starts it again. */
  killAgent(): Promise<() => Promise<void>>
  /** What the controller manager and the agent wrote so far. */
  output(): string
}

/** As `typernetes init` leaves it: whoever has a token may ask for a node's certificate, and gets it. */
async function allowBootstrap(kubeconfig: string): Promise<void> {
  using client = await openClient({ kubeconfig })
  for (const binding of joiningClusterRoleBindings) await client.create(ClusterRoleBinding, binding)
}

/** The node is called `alone`. Its certificate comes by TLS bootstrap. */
export async function startLoneKubelet(options: LoneKubeletOptions = {}): Promise<LoneKubelet> {
  await using begun = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn-alone-'))
  begun.defer(() => {
    unmountBelow(directory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  })
  const containerd = begun.use(await startTestContainerd({ podCidr: `10.${100 + (process.pid % 90)}.1.0/24` }))
  const tokens = join(directory, 'tokens')
  writeFileSync(tokens, `bootstrap-token,system:bootstrap:abcdef,1,"${joiningGroup}"\n`)
  const port = await freePort()
  const startApi = () => startCluster([...apiFlags, '--token-auth-file', tokens], directory, port)
  let cluster = await startApi()
  begun.defer(async () => void (await cluster.stop('SIGKILL')))
  const pki = join(directory, 'data', 'pki')
  const managerFlags = {
    kubeconfig: cluster.kubeconfig,
    'use-service-account-credentials': 'true',
    'root-ca-file': join(pki, 'ca.crt'),
    'cluster-signing-cert-file': join(pki, 'ca.crt'),
    'cluster-signing-key-file': join(pki, 'ca.key'),
    // It shall outlive the API server's absence, which is no election's business here.
    'leader-elect': 'false',
    'secure-port': '0',
  }
  const manager = begun.use(await startComponent(['controller-manager', ...given(managerFlags)], /controller manager is running/))
  const manifests = join(directory, 'manifests')
  mkdirSync(manifests)
  await allowBootstrap(cluster.kubeconfig)
  const bootstrap = join(directory, 'bootstrap.kubeconfig')
  const admin = readFileSync(cluster.kubeconfig, 'utf8')
  writeFileSync(bootstrap, admin.replace(/client-certificate-data: .*/, 'token: bootstrap-token').replace(/ *client-key-data: .*\n/, ''))
  const config = join(directory, 'kubelet.yaml')
  const kind = 'kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n'
  const callers = `authentication:\n  x509:\n    clientCAFile: ${join(pki, 'ca.crt')}\n`
  writeFileSync(config, `${kind}podLogsDir: ${join(directory, 'logs')}\nmaxPods: 200\n${options.settings ?? ''}${callers}`)
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
    // The machine of the test is nobody's node.
    'fail-swap-on': 'false',
    port: String(await freePort()),
    'healthz-port': String(await freePort()),
    ...(await options.flags?.(directory, containerd.socket)),
  }
  const startAgent = () => startComponent(['kubelet', ...given(flags)], /is running/)
  let agent: ComponentProcess = await startAgent()
  begun.defer(async () => void (await agent.stop('SIGKILL')))
  const running = begun.move()
  return {
    ...{ directory, manifests, containerd },
    get agentPid() {
      return agent.child.pid ?? 0
    },
    get cluster() {
      return cluster
    },
    async restartCluster() {
      cluster = await startApi()
    },
    async killAgent() {
      await agent.stop('SIGKILL')
      return async () => {
        agent = await startAgent()
      }
    },
    output: () => `${manager.output()}\n${agent.output()}`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

const apiFlags = ['--controllers=', '--feature-gates', 'DynamicKubeletConfig=true']

const given = (flags: Readonly<Record<string, string>>): string[] => Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])
