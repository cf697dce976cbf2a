/** The nodes of a cluster that have network namespaces of their own: a process for each, started again when it ends. */
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { nodeClientName, nodeIdentities, nodeServingName } from '#apiserver/pki/identities.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses, type RunningProcess } from '#base/processes.ts'
import { type NodeRecord, type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { inNodeMounts } from '#cmd/node/node-mounts.ts'
import { endNodeProcess } from '#cmd/node/take-down-node.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { podCgroupOf } from '#cmd/up/container-runtime.ts'
import type { LocalNodes } from '#cmd/up/local-nodes.ts'
import { addressesOf, layNodeNamespace, type NodePlace, nodePlace, processesIn } from '#network/node-namespace.ts'
import type { NodeNetwork } from '#network/node-network.ts'

export type NodeProcessesOptions = {
  dataDir: string
  network: NodeNetwork
  keys: ClusterKeys
  /** Where nodes reach the API. */
  serverUrl: string
  podNetwork: NodeSettings['podNetwork']
  cniPlugins: string
  isKubenet: boolean
  isEmbedded: boolean
  isOfCloud: boolean
  uplink: NodeSettings['uplink']
  logLevel: string
  traffic: Pick<NodeSettings, 'proxyMode' | 'enforcesPolicies' | 'clusterDns' | 'podLogsDir' | 'ociRuntime'>
  nodes: LocalNodes
  seams: ClusterSeams
}

const restartPauseMs = 1000

type Entry = { readonly record: NodeRecord; child: RunningProcess | undefined; isWanted: boolean; spawning: Promise<void> }

export class NodeProcesses {
  readonly #options: NodeProcessesOptions
  readonly #running = new Map<string, Entry>()
  readonly #watch: Disposable
  #isOver = false

  constructor(options: NodeProcessesOptions) {
    this.#options = options
    this.#watch = options.keys.onChange((changed) => void this.#renew(changed))
  }

  get names(): string[] {
    return [...this.#running.keys()]
  }

  /** Resolves when the process runs; what was left of one before is ended first. */
  async start(record: NodeRecord): Promise<void> {
    const { dataDir, network, nodes, seams } = this.#options
    const place = nodePlace(dataDir, network, record.number)
    await endNodeProcess(dataDir, record.name, seams)
    await layNodeNamespace(place, network, nodeProcesses)
    await this.#options.keys.add(nodeIdentities(record.name, addressesOf(place)))
    await this.#writeSettings(record, place)
    if (this.#isOver) return
    nodes.add(record.name, place.address)
    const entry: Entry = { record, child: undefined, isWanted: true, spawning: Promise.resolve() }
    this.#running.set(record.name, entry)
    await this.#spawn(entry)
  }

  /** The node's pods run on. */
  async stop(name: string): Promise<void> {
    const entry = this.#running.get(name)
    if (entry === undefined) return
    entry.isWanted = false
    this.#running.delete(name)
    this.#options.nodes.remove(name)
    // A process that is being started is ended too.
    await entry.spawning
    entry.child?.kill('SIGTERM')
    await entry.child?.exited
  }

  async stopAll(): Promise<void> {
    this.#isOver = true
    this.#watch[Symbol.dispose]()
    await Promise.all(this.names.map((name) => this.stop(name)))
  }

  #spawn(entry: Entry): Promise<void> {
    const spawned = this.#spawnNow(entry)
    entry.spawning = spawned.catch(() => {})
    return spawned
  }

  #spawnLater(entry: Entry): void {
    const { clock, logger } = this.#options.seams
    clock.after(restartPauseMs, () => {
      if (!entry.isWanted) return
      this.#spawn(entry).catch((error: unknown) => {
        logger.error('failed to restart node process, retrying', { node: entry.record.name, error: String(error) })
        this.#spawnLater(entry)
      })
    })
  }

  async #spawnNow(entry: Entry): Promise<void> {
    const { record } = entry
    const { dataDir, network, seams } = this.#options
    const { log, pid } = nodePaths(dataDir, record.name)
    const output = await seams.files.openForOutput(log)
    const { directory } = nodePaths(dataDir, record.name)
    const mounts = this.#options.podNetwork === 'cni' ? await inNodeMounts(directory, { files: seams.files, processes: nodeProcesses }) : []
    const program = [...mounts, thisProcess.executable, thisProcess.argv[1] ?? '', 'node', 'run', record.name, '--data-dir', dataDir]
    // Containers with the node's network are to find the node's name.
    const named = ['--uts', 'sh', '-c', 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"', record.name, ...program]
    const inside = processesIn(nodePlace(dataDir, network, record.number).path, nodeProcesses)
    const child = await inside.start('unshare', named, { detached: true, output: output.descriptor })
    await output.close()
    entry.child = child
    await seams.files.write(pid, `${child.pid}\n`)
    void child.exited.then(({ exitCode }) => {
      if (!entry.isWanted || entry.child !== child) return
      seams.logger.warn('node process exited, restarting it', { node: record.name, exitCode, log })
      this.#spawnLater(entry)
    })
  }

  async #writeSettings(record: NodeRecord, { address, addressV6 }: NodePlace): Promise<void> {
    const { dataDir, network, podNetwork, cniPlugins, isKubenet, isEmbedded, isOfCloud, uplink, logLevel, traffic, seams } = this.#options
    const paths = nodePaths(dataDir, record.name)
    const podCgroup = `${podCgroupOf(dataDir)}-${record.number}`
    const pods = { clusterCidrs: network.clusterCidrs, podNetwork, cniPlugins, isKubenet, isEmbedded, isOfCloud, uplink, podCgroup }
    const settings: NodeSettings = { ...record, ...pods, ...traffic, address, addressV6, dataDir, logLevel }
    await seams.files.makeDirectory(paths.directory)
    await seams.files.write(paths.settings, JSON.stringify(settings))
    await this.#writeCredentials(record.name)
  }

  async #writeCredentials(name: string): Promise<void> {
    const { dataDir, keys, serverUrl, seams } = this.#options
    const paths = nodePaths(dataDir, name)
    const authorityPem = keys.authority('ca').certificatePem
    const entry = { name: 'typernetes', server: serverUrl, authorityPem }
    const serving = keys.identity(nodeServingName(name))
    await writeKubeconfig(seams.files, paths.kubeletConfig, { ...entry, credential: keys.identity(nodeClientName(name)) })
    await writeKubeconfig(seams.files, paths.proxyConfig, { ...entry, credential: keys.identity('kube-proxy') })
    await seams.files.write(paths.key, serving.privateKeyPem)
    await seams.files.write(paths.certificate, serving.certificatePem)
    await seams.files.write(paths.authority, authorityPem)
  }

  /** A process reads its certificates when it starts. */
  async #renew(changed: readonly string[]): Promise<void> {
    const { seams } = this.#options
    for (const entry of this.#running.values()) {
      const { record } = entry
      const own = ['ca', 'kube-proxy', nodeClientName(record.name), nodeServingName(record.name)]
      if (!changed.some((name) => own.includes(name))) continue
      try {
        await this.#writeCredentials(record.name)
        // One that is being started may have read the old ones.
        await entry.spawning
        entry.child?.kill('SIGTERM')
      } catch (error) {
        seams.logger.error('failed to write renewed certificates of node', { node: record.name, error: String(error) })
      }
    }
  }
}
