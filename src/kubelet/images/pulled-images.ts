/** Who has shown that they may have an image: what lies on the node is not everybody's for that. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { Files } from '#base/files.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { CredentialsPolicy } from '#kubelet/images/credentials-policy.ts'
import type { RegistryEntry } from '#kubelet/images/registry-credentials.ts'

/** The secret whose credentials were good, and which they were. */
export type GoodSecret = { uid: string; namespace: string; name: string; credentialHash: string }

/** By repository, whom the registry gave the image to: anybody on the node, bearers of these secrets, pods of these service accounts. */
type PulledRecord = {
  imageRef: string
  credentialMapping: Record<string, Good>
}
type Account = Omit<GoodSecret, 'credentialHash'>
type Good = { nodePodsAccessible?: boolean; kubernetesSecrets?: GoodSecret[]; kubernetesServiceAccounts?: Account[] }

/** Beyond, one more secret that is good as well is not worth remembering. */
const mostSecrets = 100

/**
 * Images that were on the node before, or came there by other ways, are everybody's. Those we have pulled are for pods with
 * credentials that were good for one pull, and for everybody when none were needed. Survives restarts, a crash in a pull too.
 */
export class PulledImages {
  readonly #files: Files
  readonly #directory: string
  readonly #pulling = new Map<string, number>()
  readonly #policy: CredentialsPolicy
  #writing: Promise<void> = Promise.resolve()

  constructor(files: Files, directory: string, policy: CredentialsPolicy = (_, wasPulled) => wasPulled) {
    this.#files = files
    this.#directory = directory
    this.#policy = policy
  }

  /** Whether a pod with these credentials may use the image that is there without asking the registry. */
  async mayUse(image: string, imageRef: string, credentials: () => Promise<readonly RegistryEntry[]>): Promise<boolean> {
    const record = await this.#read(imageRef)
    // A pull that has not ended well may still have left the image.
    const wasPulled = record !== undefined || (await this.#isBeingPulled(image))
    if (!this.#policy(image, wasPulled)) return true
    if (record === undefined) return false
    const known = record.credentialMapping[repositoryOf(image)]
    if (known === undefined) return false
    if (known.nodePodsAccessible) return true
    const { kubernetesSecrets = [], kubernetesServiceAccounts: accounts = [] } = known
    if (kubernetesSecrets.length === 0 && accounts.length === 0) return false
    const entries = await credentials()
    if (entries.some(({ account }) => account !== undefined && accounts.some((each) => isSame(each, account)))) return true
    for (const secret of entries.flatMap((entry) => goodSecretOf(entry) ?? [])) {
      const sameCredential = kubernetesSecrets.find(({ credentialHash }) => credentialHash === secret.credentialHash)
      const sameSecret = kubernetesSecrets.find((each) => isSame(each, secret))
      if (sameCredential === undefined && sameSecret === undefined) continue
      if (sameCredential === undefined || sameSecret === undefined) await this.#remember(image, imageRef, secret)
      return true
    }
    return false
  }

  /** To be called before a pull. */
  async begin(image: string): Promise<void> {
    this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1)
    await this.#files.makeDirectory(join(this.#directory, 'pulling'))
    await this.#files.createExclusive(this.#intentFile(image), image)
  }

  /** The pull has ended: with these credentials, or none, or not well. */
  async end(image: string, outcome: { imageRef: string; credentials: RegistryEntry | undefined } | undefined): Promise<void> {
    if (outcome !== undefined) {
      const { imageRef, credentials } = outcome
      await this.#remember(image, imageRef, credentials === undefined ? undefined : goodSecretOf(credentials), credentials?.account)
    }
    const left = (this.#pulling.get(image) ?? 1) - 1
    if (left > 0) {
      this.#pulling.set(image, left)
      return
    }
    this.#pulling.delete(image)
    await this.#files.remove(this.#intentFile(image))
  }

  /** One at a time: what two pulls of one image have found is added up. */
  #remember(image: string, imageRef: string, secret: GoodSecret | undefined, account?: Account): Promise<void> {
    const written = this.#writing.then(async () => {
      const record = (await this.#read(imageRef)) ?? { imageRef, credentialMapping: {} }
      const repository = repositoryOf(image)
      const known = record.credentialMapping[repository] ?? {}
      if (known.nodePodsAccessible) return
      const secrets = added(known.kubernetesSecrets, secret)
      const accounts = added(known.kubernetesServiceAccounts, account)
      if (secrets === undefined || accounts === undefined) return
      record.credentialMapping[repository] =
        secret === undefined && account === undefined
          ? { nodePodsAccessible: true }
          : omitEmpty({ kubernetesSecrets: secrets, kubernetesServiceAccounts: accounts })
      await this.#files.makeDirectory(join(this.#directory, 'pulled'))
      await this.#files.write(this.#recordFile(imageRef), JSON.stringify(record))
    })
    // Whoever writes gets the failure; the next one only waits for its end.
    this.#writing = written.catch(() => {})
    return written
  }

  async #isBeingPulled(image: string): Promise<boolean> {
    return this.#pulling.has(image) || (await this.#files.stat(this.#intentFile(image))) !== undefined
  }

  async #read(imageRef: string): Promise<PulledRecord | undefined> {
    const text = await this.#files.readTextIfPresent(this.#recordFile(imageRef))
    return text === undefined ? undefined : (JSON.parse(text) as PulledRecord)
  }

  #recordFile(imageRef: string): string {
    return join(this.#directory, 'pulled', fileNameOf(imageRef))
  }

  #intentFile(image: string): string {
    return join(this.#directory, 'pulling', fileNameOf(image))
  }
}

const fileNameOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('hex')}`

const repositoryOf = (image: string): string => parseImageReference(image)?.repository ?? image

/** Undefined when there is no more room. */
function added<T extends Account>(known: readonly T[] = [], one: T | undefined): T[] | undefined {
  if (one === undefined) return [...known]
  const others = known.filter((each) => !isSame(each, one))
  return others.length >= mostSecrets ? undefined : [...others, one]
}

const isSame = (one: Account, other: Account): boolean =>
  one.uid === other.uid && one.namespace === other.namespace && one.name === other.name

/** Credentials of the node itself are good for all of its pods. */
function goodSecretOf({ source, auth }: RegistryEntry): GoodSecret | undefined {
  if (source === undefined) return undefined
  return { ...source, credentialHash: createHash('sha256').update(JSON.stringify(auth)).digest('hex') }
}
