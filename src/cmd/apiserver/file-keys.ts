import { createPrivateKey } from 'node:crypto'
import { ExpiryWatch, type WatchedCertificate, watchedCertificate } from '#apiserver/pki/expiry-watch.ts'
import type { ServiceAccountKeys } from '#apiserver/pki/key-directory.ts'
import type { CertificateAndKey, ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { FollowedFiles } from '#base/followed-files.ts'
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
  readonly #changes: FollowedFiles
  readonly #expiry: ExpiryWatch
  readonly serviceAccountKeys: ServiceAccountKeys
  #contents: Contents

  private constructor(paths: KeyFiles, seams: Seams, contents: Contents, serviceAccountKeys: ServiceAccountKeys, changes: FollowedFiles) {
    this.#paths = paths
    this.#seams = seams
    this.#contents = contents
    this.serviceAccountKeys = serviceAccountKeys
    this.#expiry = new ExpiryWatch({ ...seams, certificates: () => this.#certificates() })
    this.#changes = changes
    changes.readAgain(
      () => this.#readAgain(),
      (error) => seams.logger.error('failed to read changed certificates', { error: String(error) }),
    )
  }

  static async open(paths: KeyFiles, seams: Seams): Promise<FileKeys> {
    const { files, clock } = seams
    const { serving, clientCa, kubeletClient } = paths
    const given = [serving.certificate, serving.key, clientCa, kubeletClient.certificate, kubeletClient.key].filter((path) => path !== '')
    using stack = new DisposableStack()
    const changes = stack.use(FollowedFiles.at([...new Set(given)], files, { clock, ms: settleMs }))
    const privateKey = createPrivateKey(await files.readText(paths.serviceAccountSigningKey))
    // Whose tokens are believed is said by flags of their own.
    const keys = new FileKeys(paths, seams, await readAll(paths, files), { privateKey, publicKeys: [] }, changes)
    stack.move()
    return keys
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
    this.#changes[Symbol.dispose]()
    this.#expiry[Symbol.dispose]()
    this.#listeners.clear()
  }

  /** The authority may be several, of which some are old on purpose. */
  #certificates(): WatchedCertificate[] {
    const { serving, kubeletClient } = this.#contents
    const given = [
      { place: this.#paths.serving.certificate, certificatePem: serving.certificatePem },
      { place: this.#paths.kubeletClient.certificate, certificatePem: kubeletClient?.certificatePem },
    ]
    return given.flatMap(({ place, certificatePem }) => (certificatePem === undefined ? [] : [watchedCertificate(place, certificatePem)]))
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
    this.#expiry.look()
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
