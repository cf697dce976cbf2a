/** An API server and the HTTP interface of one node, in this process and with real sockets, over any runtime. */
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities, nodeIdentities, nodeServingName } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import { KubeletServer } from '#kubelet/server/kubelet-server.ts'
import { listenForNode } from '#kubelet/server/listen-for-node.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { fakeApiServer } from '#testing/fake-cluster.ts'

export type Ran = { exitCode: number; stdout: string; stderr: string }

export type NodeWithServer = AsyncDisposable & {
  readonly url: string
  readonly kubeletUrl: string
  readonly kubeconfig: string
  readonly directory: string
  readonly keys: ClusterKeys
  readonly client: Client
  /** A pod of this node, which is told to be running. */
  createPod(name: string, spec: V1PodSpec): Promise<V1Pod>
  /** Runs a program with the cluster's kubeconfig; this process serves meanwhile. */
  run(program: string, args: readonly string[], input?: string | Uint8Array): Promise<Ran>
}

/** `nodeAddress` is where the node says that its agent is. */
export async function startNodeWithServer(runtime: Runtime, nodeAddress = '127.0.0.1'): Promise<NodeWithServer> {
  await using opened = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn node server '))
  opened.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }))
  const keys = opened.use(
    await ClusterKeys.open(
      { directory: await openKeyDirectory(nodeFiles, join(directory, 'pki')), clock: systemClock, random: systemRandom, log: silentLogger },
      [
        ...clusterIdentities({ hostName: 'test', serviceIp: '10.96.0.1', clusterDomain: 'cluster.local', addresses: [] }),
        ...nodeIdentities('n1', [nodeAddress]),
      ],
    ),
  )
  const authority = keys.authority('ca').certificatePem
  const store = new MemoryStore({ clock: systemClock })
  opened.defer(() => store.close())
  const api = await fakeApiServer(systemClock, systemRandom, [], {
    store,
    keys,
    listen: { host: '127.0.0.1', port: 0 },
    nodeConnections: { kubeletCertificateAuthority: authority },
  })
  opened.defer(() => api.stop())
  const clientAs = (name: string, groups: string[]) =>
    new Client({
      transport: inProcessTransport(inProcess(api.server.handler.handle, new TrustedConnection({ name, groups, extra: {} }))),
      userAgent: 'test',
    })
  const client = clientAs('admin', ['system:masters'])
  const pods = new Map<string, V1Pod>()
  const upgrades = opened.use(nodeUpgradeClient())
  const authorities = [new X509Certificate(authority)]
  const server = new KubeletServer({
    ...{ nodeName: 'n1', runtime, client: clientAs('system:node:n1', ['system:nodes']) },
    ...{ clock: systemClock, files: nodeFiles, logger: silentLogger, upgrades },
    findPod: (namespace, name) => pods.get(`${namespace}/${name}`),
    allPods: () => [...pods.values()],
    access: { clientAuthorities: () => authorities, reviewsTokens: true, allowsAnonymous: false, allowsEverything: false },
    configuration: () => ({ kind: 'KubeletConfiguration' }),
  })
  const { certificatePem: cert, privateKeyPem: key } = keys.identity(nodeServingName('n1'))
  const ports = { ...defaultKubeletConfiguration(), address: nodeAddress, port: 0, healthzPort: 0 }
  const listeners = await listenForNode(server, ports, { tls: { cert, key, clientCa: authority } }, silentLogger)
  opened.defer(() => listeners.close())
  const { port = 0 } = listeners
  await client.create(Node, { metadata: { name: 'n1' }, spec: {} })
  await client.patch(
    Node,
    { name: 'n1' },
    {
      status: {
        addresses: [{ type: 'InternalIP', address: nodeAddress }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
        declaredFeatures: ['ExtendWebSocketsToKubelet'],
      },
    },
    { subresource: 'status' },
  )
  const url = `https://127.0.0.1:${api.listener?.port}`
  const kubeconfig = join(directory, 'kubeconfig')
  await writeKubeconfig(nodeFiles, kubeconfig, { name: 'test', server: url, authorityPem: authority, credential: keys.identity('admin') })
  const running = opened.move()
  return {
    ...{ url, kubeletUrl: `https://${nodeAddress}:${port}`, kubeconfig, directory, keys, client },
    async createPod(name, spec) {
      const made = await client.create(Pod, { metadata: { name, namespace: 'default' }, spec: { nodeName: 'n1', ...spec } })
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
      const pod = await client.patch(Pod, { namespace: 'default', name }, { status }, { subresource: 'status' })
      pods.set(`default/${name}`, pod)
      return made
    },
    run: (program, args, input) =>
      new Promise((resolve) => {
        const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(directory, 'cache'), HOME: directory }
        const child = execFile(
          program,
          args,
          { env, timeout: 200_000, maxBuffer: 128 << 20, encoding: 'buffer' },
          (error, stdout, stderr) =>
            resolve({
              exitCode: error === null ? 0 : typeof error.code === 'number' ? error.code : 128,
              stdout: stdout.toString('utf8'),
              stderr: stderr.toString('utf8'),
            }),
        )
        child.stdin?.on('error', () => {})
        if (input !== undefined) child.stdin?.end(input)
        else child.stdin?.end()
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
