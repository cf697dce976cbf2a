import { createPrivateKey } from 'node:crypto'
import type { ServiceAccountKeys } from '#apiserver/pki/key-directory.ts'
import type { CertificateAndKey, ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'

/** The files that flags name; empty ones are not given. */
export type KeyFiles = {
  serving: { certificate: string; key: string }
  clientCa: string
  kubeletClient: { certificate: string; key: string }
  serviceAccountSigningKey: string
}

type Contents = { serving: CertificateAndKey; clientCa: string; kubeletClient: CertificateAndKey | undefined }
type Seams = { files: Files; clock: Clock; logger: Logger }

/** Somebody who renews certificates writes several files. */
const settleMs = 500

/** Keys that somebody else looks after: read at the start, and again when a file changes. */
export class FileKeys implements ServerKeys {
  readonly #paths: KeyFiles
  readonly #seams: Seams
  readonly #listeners = new Set<(changed: readonly string[]) => void>()
  readonly #watches: readonly Disposable[]
  readonly serviceAccountKeys: ServiceAccountKeys
  #contents: Contents
  #reload: Timer | undefined

  private constructor(paths: KeyFiles, seams: Seams, contents: Contents, serviceAccountKeys: ServiceAccountKeys) {
    this.#paths = paths
    this.#seams = seams
    this.#contents = contents
    this.serviceAccountKeys = serviceAccountKeys
    const watched = [paths.serving.certificate, paths.serving.key, paths.clientCa, paths.kubeletClient.certificate, paths.kubeletClient.key]
    this.#watches = [...new Set(watched)].filter((path) => path !== '').map((path) => seams.files.watch(path, () => this.#changed()))
  }

  static async open(paths: KeyFiles, seams: Seams): Promise<FileKeys> {
    const privateKey = createPrivateKey(await seams.files.readText(paths.serviceAccountSigningKey))
    // Whose tokens are believed is said by flags of their own.
    return new FileKeys(paths, seams, await readAll(paths, seams.files), { privateKey, publicKeys: [] })
  }

  authority(name: 'ca' | 'front-proxy-ca'): { certificatePem: string } {
    return { certificatePem: name === 'ca' ? this.#contents.clientCa : '' }
  }

  identity(name: 'apiserver'): CertificateAndKey
  identity(name: 'apiserver-kubelet-client' | 'front-proxy-client'): CertificateAndKey | undefined
  identity(name: string): CertificateAndKey | undefined {
    if (name === 'apiserver') return this.#contents.serving
    return name === 'apiserver-kubelet-client' ? this.#contents.kubeletClient : undefined
  }

  onChange(listener: (changed: readonly string[]) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches) watch[Symbol.dispose]()
    this.#reload?.cancel()
    this.#listeners.clear()
  }

  #changed(): void {
    this.#reload ??= this.#seams.clock.after(settleMs, () => {
      this.#reload = undefined
      this.#readAgain().catch((error: unknown) => this.#seams.logger.error('failed to read changed certificates', { error: String(error) }))
    })
  }

  async #readAgain(): Promise<void> {
    const before = this.#contents
    this.#contents = await readAll(this.#paths, this.#seams.files)
    const changed = [
      ...(this.#contents.serving.certificatePem === before.serving.certificatePem ? [] : ['apiserver']),
      ...(this.#contents.clientCa === before.clientCa ? [] : ['ca']),
      ...(this.#contents.kubeletClient?.certificatePem === before.kubeletClient?.certificatePem ? [] : ['apiserver-kubelet-client']),
    ]
    if (changed.length === 0) return
    this.#seams.logger.info('certificates were renewed', { names: changed })
    for (const listener of this.#listeners) listener(changed)
  }
}

async function readAll({ serving, clientCa, kubeletClient }: KeyFiles, files: Files): Promise<Contents> {
  const pair = async ({ certificate, key }: { certificate: string; key: string }) => ({
    certificatePem: await files.readText(certificate),
    privateKeyPem: await files.readText(key),
  })
  return {
    serving: await pair(serving),
    clientCa: clientCa === '' ? '' : await files.readText(clientCa),
    kubeletClient: kubeletClient.certificate === '' ? undefined : await pair(kubeletClient),
  }
}
