import { join } from 'node:path'
import { ignoreNotFound, isAlreadyExists } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { addressAt, contains, familyOf, type IpFamily, parseRange, rangeText } from '#base/ip-range.ts'
import type { Logger } from '#base/log.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import type { CalicoSource } from '#network/calico/calico-source.ts'
import { IPAMBlock, type IPPool } from '#network/calico/definitions.ts'
import {
  affinityOf,
  blockAround,
  blockName,
  blockSizeOf,
  blocksOfNode,
  freeBlock,
  poolOf,
  poolsForNode,
} from '#network/calico/pool-blocks.ts'
import { type NodeBlock, tunnelOwner, type WantedAddress } from '#network/cni/calico-ipam.ts'

export type BlockAgentOptions = {
  nodeName: string
  /** The labels that pools select nodes by; undefined until the node is known. */
  labels(): Readonly<Record<string, string>> | undefined
  calico: Pick<CalicoSource, 'list' | 'synced' | 'onChange'>
  /** May write blocks. */
  client: Client
  clock: Clock
  files: Files
  logger: Logger
  /** Families that pods get addresses of. */
  families: readonly IpFamily[]
  /** Where addresses that were given out lie, one file each. */
  addresses: string
  /** Where the blocks of this node are written down for the plugin, and where it says what it lacks. */
  blocksFile: string
  wantedDirectory: string
}

/** A block with the number of its addresses that nobody has. */
type Described = { block: NodeBlock; free: bigint }

/** Another block is asked for before the last address is gone. */
const fewAddresses = 8
/** Until then a plugin may be about to give out an address of a block that it has just read of. */
const restMs = 30_000
const checkMs = 10_000
const isAddress = (name: string): boolean => /^[0-9a-f.:]+$/.test(name)

/** Sees to it that the node has blocks of the pools that are for it, writes them down for the plugin, and gives back those that it may not use and does not. */
export class BlockAgent {
  readonly #options: BlockAgentOptions
  readonly #loop: SyncLoop
  readonly #ready = Promise.withResolvers<void>()
  /** Asked for by us, though the API has not told of them yet; false: somebody else has it. */
  readonly #claims = new Map<string, boolean>()
  readonly #idleSinceMs = new Map<string, number>()
  readonly #watches: Disposable[] = []
  #waiting: (() => void)[] = []
  #blocks: readonly NodeBlock[] = []
  #written: string | undefined

  constructor(options: BlockAgentOptions) {
    this.#options = options
    const { clock, logger, nodeName } = options
    this.#loop = new SyncLoop({
      ...{ clock, minMs: 0, maxMs: checkMs },
      run: async () => {
        const waiting = this.#waiting.splice(0)
        await this.#sync()
        if (this.#written !== undefined) this.#ready.resolve()
        for (const resolve of waiting) resolve()
      },
      onFailure: (error, retryMs) => {
        logger.warn('pod network: failed to get blocks of addresses, retrying', { node: nodeName, error: String(error), retryMs })
        this.#ready.resolve()
      },
    })
  }

  /** Resolves after the first look, whether it found blocks or not. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  async start(): Promise<void> {
    const { addresses, wantedDirectory, files, calico } = this.#options
    for (const directory of [addresses, wantedDirectory]) {
      await files.makeDirectory(directory, { mode: 0o755 })
      this.#watches.push(files.watch(directory, () => this.look()))
    }
    await calico.synced
    calico.onChange(() => this.look())
    this.look()
  }

  look(): void {
    this.#loop.request()
  }

  /** Resolves after a look that begins from now on. */
  async settled(): Promise<void> {
    const done = Promise.withResolvers<void>()
    this.#waiting.push(done.resolve)
    this.look()
    await done.promise
  }

  async stop(): Promise<void> {
    for (const watch of this.#watches) watch[Symbol.dispose]()
    await this.#loop.stop()
  }

  /** For the node's end of tunnels, which no pod gets; undefined where the node has no block. */
  async tunnelAddress(): Promise<string | undefined> {
    const { addresses, files } = this.#options
    for (const name of (await files.list(addresses)).filter(isAddress)) {
      if ((await files.readTextIfPresent(join(addresses, name)))?.trim() === tunnelOwner) return name
    }
    for (const { cidr } of this.#blocks.filter(({ cidr: each }) => familyOf(each) === 'IPv4')) {
      const range = parseRange(cidr)
      for (let offset = 0n; offset < range.size; offset++) {
        const address = addressAt(range, offset)
        if (await files.createExclusive(join(addresses, address), tunnelOwner, { mode: 0o644 })) return address
      }
    }
    return undefined
  }

  async #sync(): Promise<void> {
    const { labels, calico, files, families, addresses, blocksFile } = this.#options
    const own = labels()
    if (own === undefined) return
    const used = (await files.list(addresses)).filter(isAddress)
    // Pods that have outlived the node's object keep their addresses.
    for (const address of used) await this.#claimAround(address, calico.list().pools)
    for (const wish of await this.#takeWishes()) await this.#satisfy(wish, own)
    for (const family of families) await this.#keepEnough(family, used, own)
    const described = this.#describe(used, own)
    this.#blocks = described.map(({ block }) => block)
    const text = JSON.stringify(this.#blocks)
    if (text !== this.#written) await files.write(blocksFile, text, { mode: 0o644 })
    this.#written = text
    await this.#giveBack(described)
  }

  async #keepEnough(family: IpFamily, used: readonly string[], labels: Readonly<Record<string, string>>): Promise<void> {
    const pools = poolsForNode(this.#options.calico.list().pools, { metadata: { labels } }, family)
    const few = Math.min(fewAddresses, ...pools.map((pool) => Math.max(1, sizeOfBlocks(pool) / 4)))
    for (;;) {
      const usable = this.#describe(used, labels).filter(({ block }) => block.isUsable && familyOf(block.cidr) === family)
      if (usable.reduce((sum, { free }) => sum + Number(free), 0) >= few || !(await this.#claimFrom(pools))) return
    }
  }

  async #takeWishes(): Promise<WantedAddress[]> {
    const { files, wantedDirectory } = this.#options
    const wishes: WantedAddress[] = []
    for (const name of await files.list(wantedDirectory)) {
      const text = await files.readTextIfPresent(join(wantedDirectory, name))
      if (text?.endsWith('}')) wishes.push(JSON.parse(text) as WantedAddress)
      await files.remove(join(wantedDirectory, name))
    }
    return wishes
  }

  async #satisfy({ family, pools: names, address }: WantedAddress, labels: Readonly<Record<string, string>>): Promise<void> {
    const { calico, logger, nodeName } = this.#options
    const { pools } = calico.list()
    const enabled = pools.filter(({ spec }) => !spec.disabled && familyOf(spec.cidr) === family)
    if (address !== undefined) {
      await this.#claimAround(address, enabled)
      return
    }
    const isAsked = ({ metadata, spec }: IPPool) => names?.some((name) => name === metadata.name || name === spec.cidr)
    const candidates = names === undefined ? poolsForNode(pools, { metadata: { labels } }, family) : enabled.filter(isAsked)
    if (await this.#claimFrom(candidates)) return
    logger.warn('pod network: no IPPool has a free block for the node', { node: nodeName, family, ...defined({ pools: names }) })
  }

  async #claimFrom(pools: readonly IPPool[]): Promise<boolean> {
    for (const pool of pools) {
      for (;;) {
        const cidr = freeBlock(pool, this.#taken(), this.#options.nodeName)
        if (cidr === undefined) break
        if (await this.#claim(cidr)) return true
      }
    }
    return false
  }

  async #claimAround(address: string, pools: readonly IPPool[]): Promise<void> {
    if (this.#own().some((cidr) => contains(parseRange(cidr), address))) return
    const pool = poolOf(pools, address)
    const cidr = pool && blockAround(pool, address)
    if (cidr !== undefined && !this.#taken().has(cidr)) await this.#claim(cidr)
  }

  /** False where somebody else was faster. */
  async #claim(cidr: string): Promise<boolean> {
    const { client, nodeName, logger } = this.#options
    const spec = { cidr, affinity: affinityOf(nodeName), strictAffinity: true, deleted: false }
    try {
      await client.create(IPAMBlock, { metadata: { name: blockName(cidr) }, spec })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      this.#claims.set(cidr, false)
      return false
    }
    this.#claims.set(cidr, true)
    logger.info('pod network: the node has a block of addresses', { node: nodeName, block: cidr })
    return true
  }

  #own(): string[] {
    const { blocks } = this.#options.calico.list()
    const names = new Set(blocks.map(({ metadata }) => metadata.name))
    for (const cidr of this.#claims.keys()) if (names.has(blockName(cidr))) this.#claims.delete(cidr)
    const awaited = [...this.#claims].filter(([, isOurs]) => isOurs).map(([cidr]) => cidr)
    return [...blocksOfNode(blocks, this.#options.nodeName), ...awaited]
  }

  #taken(): Set<string> {
    const { blocks } = this.#options.calico.list()
    return new Set([...blocks.map(({ spec }) => rangeText(parseRange(spec.cidr))), ...this.#claims.keys()])
  }

  #describe(used: readonly string[], labels: Readonly<Record<string, string>>): Described[] {
    const { pools } = this.#options.calico.list()
    return this.#own().map((cidr) => {
      const range = parseRange(cidr)
      const pool = poolOf(pools, addressAt(range, 0))
      const isUsable = pool !== undefined && poolsForNode([pool], { metadata: { labels } }, range.family).length > 0
      const shown = { pool: pool?.metadata.name ?? '', poolCidr: pool?.spec.cidr ?? '' }
      return {
        block: { cidr, ...shown, isUsable, isEnabled: pool !== undefined && !pool.spec.disabled },
        free: range.size - BigInt(used.filter((address) => contains(range, address)).length),
      }
    })
  }

  async #giveBack(described: readonly Described[]): Promise<void> {
    const { client, clock, logger, nodeName } = this.#options
    const nowMs = clock.monotonic()
    for (const { block, free } of described) {
      const sinceMs = this.#idleSinceMs.get(block.cidr)
      if (block.isUsable || free < parseRange(block.cidr).size) this.#idleSinceMs.delete(block.cidr)
      else if (sinceMs === undefined) this.#idleSinceMs.set(block.cidr, nowMs)
      else if (nowMs - sinceMs >= restMs) {
        await client.delete(IPAMBlock, { name: blockName(block.cidr) }).catch(ignoreNotFound)
        this.#claims.delete(block.cidr)
        this.#idleSinceMs.delete(block.cidr)
        logger.info('pod network: the node has given back a block of addresses', { node: nodeName, block: block.cidr })
      }
    }
  }
}

const sizeOfBlocks = (pool: IPPool): number => 2 ** Math.min(16, (familyOf(pool.spec.cidr) === 'IPv4' ? 32 : 128) - blockSizeOf(pool))
