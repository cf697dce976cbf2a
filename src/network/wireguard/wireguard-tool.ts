/** A node's key, and its devices as `wg` sets them up. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import type { WireguardDevice } from '#network/pod-network/wireguard.ts'

export type WireguardToolOptions = { directory: string; files: Files; processes: Processes; namespace?: string | undefined }

export type WireguardKeys = { privateKey: string; publicKey: string }

/** What stands before the 32 bytes of a private key (PKCS 8) and of a public one (SPKI). */
const privatePrefix = Buffer.from('302e020100300506032b656e04220420', 'hex')
const publicPrefixBytes = 12

export class WireguardTool {
  readonly #options: WireguardToolOptions
  #keys: WireguardKeys | undefined

  constructor(options: WireguardToolOptions) {
    this.#options = options
  }

  /** The same after every start, so that what others know of the node stays true. */
  async keys(): Promise<WireguardKeys> {
    if (this.#keys !== undefined) return this.#keys
    const { files, directory } = this.#options
    const path = join(directory, 'wireguard.key')
    const kept = (await files.readTextIfPresent(path))?.trim()
    const privateKey = kept ?? newPrivateKey()
    if (kept === undefined) {
      await files.makeDirectory(directory)
      await files.write(path, `${privateKey}\n`, { mode: 0o600 })
    }
    this.#keys = { privateKey, publicKey: publicKeyOf(privateKey) }
    return this.#keys
  }

  /** Peers that stay keep their sessions. */
  async tell(devices: readonly WireguardDevice[]): Promise<void> {
    const { files, directory, processes, namespace } = this.#options
    for (const { name, configuration } of devices) {
      const path = join(directory, `${name}.conf`)
      await files.write(path, configuration, { mode: 0o600 })
      const enter = namespace === undefined ? [] : ['nsenter', `--net=${namespace}`, '--']
      const [program = 'wg', ...args] = [...enter, 'wg', 'syncconf', name, path]
      const result = await processes.run(program, args).catch((error: unknown) => {
        throw new Error('--pod-network wireguard needs the program wg (Debian: apt install wireguard-tools)', { cause: error })
      })
      if (result.exitCode !== 0) throw new Error(`wg syncconf ${name}: ${result.stderr.trim()}`)
    }
  }
}

function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('x25519')
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(privatePrefix.length).toString('base64')
}

export function publicKeyOf(privateKey: string): string {
  const der = Buffer.concat([privatePrefix, Buffer.from(privateKey, 'base64')])
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  return key.export({ format: 'der', type: 'spki' }).subarray(publicPrefixBytes).toString('base64')
}
