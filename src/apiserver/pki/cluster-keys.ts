import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { type Authority, issueIdentity, type KeyPair, newAuthority, pemOf, renewedAuthority } from '#apiserver/pki/authority.ts'
import { ExpiryWatch, type WatchedCertificate } from '#apiserver/pki/expiry-watch.ts'
import { type AuthorityName, authorities, type Identity } from '#apiserver/pki/identities.ts'
import type { KeyDirectory, ServiceAccountKeys } from '#apiserver/pki/key-directory.ts'
import { serves } from '#apiserver/pki/serves.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

export type ClusterKeysOptions = {
  directory: KeyDirectory
  clock: Clock
  random: Random
  log: Logger
}

/** A line of `certs status`. */
export type CertificateStatus = {
  readonly name: string
  /** Undefined for an authority. */
  readonly signer: AuthorityName | undefined
  readonly subject: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly renewAtMs: number
}

/** Timers stand still while a laptop sleeps, certificates age on: look again this often. */
const longestSleepMs = 3600 * 1000
/** Somebody who renews by hand writes several files. */
const settleMs = 200

/**
 * A cluster's keys and certificates: made where they are missing, renewed when less than a third of their life is left,
 * read again when their files change.
 */
export class ClusterKeys {
  readonly #options: ClusterKeysOptions
  readonly #authorities = new Map<AuthorityName, Authority>()
  readonly #identities = new Map<string, { identity: Identity; pair: KeyPair }>()
  readonly #listeners = new Set<(changed: readonly string[]) => void>()
  readonly #changes: FollowedFiles
  /** Of those that cannot be renewed here, since the key of their authority is kept elsewhere. */
  readonly #expiry: ExpiryWatch
  #serviceAccountKeys: ServiceAccountKeys
  #renewal: Timer | undefined
  #isOver = false
  #busy: Promise<unknown> = Promise.resolve()

  private constructor(options: ClusterKeysOptions, loaded: Authority[], serviceAccountKeys: ServiceAccountKeys, changes: FollowedFiles) {
    this.#options = options
    this.#serviceAccountKeys = serviceAccountKeys
    for (const authority of loaded) this.#authorities.set(authority.name, authority)
    const { clock, log: logger } = options
    this.#expiry = new ExpiryWatch({ clock, logger, certificates: () => this.#keptByOthers() })
    this.#changes = changes
    changes.readAgain(
      () => this.#exclusively(() => this.#reloadAll()),
      (error) => this.#failed('reading changed certificates', error),
    )
  }

  static async open(options: ClusterKeysOptions, identities: readonly Identity[]): Promise<ClusterKeys> {
    const names = Object.keys(authorities) as AuthorityName[]
    const { directory, clock } = options
    using stack = new DisposableStack()
    const changes = stack.use(new FollowedFiles((onChange) => directory.watch(onChange), { clock, ms: settleMs }))
    const [serviceAccountKeys, ...loaded] = await Promise.all([
      readOrCreateServiceAccountKeys(directory),
      ...names.map((name) => readOrCreateAuthority(name, options)),
    ])
    const keys = stack.use(new ClusterKeys(options, loaded, serviceAccountKeys, changes))
    await keys.add(identities)
    stack.move()
    return keys
  }

  /** The file or renewed certificate's name is told after the fact; read anew what you use. */
  onChange(listener: (changed: readonly string[]) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  authority(name: AuthorityName): Authority {
    const authority = this.#authorities.get(name)
    if (authority === undefined) throw new Error(`no authority ${name}`)
    return authority
  }

  identity(name: string): KeyPair {
    const entry = this.#identities.get(name)
    if (entry === undefined) throw new Error(`no certificate ${name}`)
    return entry.pair
  }

  get serviceAccountKeys(): ServiceAccountKeys {
    return this.#serviceAccountKeys
  }

  /** Resolves when what is under way is written. */
  async settled(): Promise<void> {
    await this.#busy
  }

  /** Takes further identities into care (a node that joins this process): loads them, or issues them. */
  async add(identities: readonly Identity[]): Promise<void> {
    await Promise.all(
      identities.map(async (identity) => {
        const authority = this.authority(identity.signer)
        const kept = await this.#options.directory.readIdentity(identity.name)
        const isInTime = kept !== undefined && (this.#now() < renewAtMs(kept) || authority.signer === undefined)
        const isGood = isInTime && serves(kept, identity, authority)
        this.#identities.set(identity.name, { identity, pair: isGood ? kept : await this.#issue(identity) })
      }),
    )
    this.#expiry.look()
    this.#schedule()
  }

  /** Issues the named certificates anew (all but the authorities when none is named) and gives their names back. */
  async renew(names?: readonly string[]): Promise<string[]> {
    const unknown = names?.find((name) => !this.#identities.has(name) && !(name in authorities))
    if (unknown !== undefined) {
      throw new Error(
        `there is no certificate ${JSON.stringify(unknown)}; there are ${this.status()
          .map(({ name }) => name)
          .join(', ')}`,
      )
    }
    const asked = new Set(names ?? this.#identities.keys())
    return this.#exclusively(() => this.#renewWhere((name) => asked.has(name)))
  }

  status(): CertificateStatus[] {
    const line = (name: string, pem: string, times: Times, signer?: AuthorityName): CertificateStatus => ({
      name,
      signer,
      subject: new X509Certificate(pem).subject.replaceAll('\n', ', '),
      notBeforeMs: times.notBeforeMs,
      notAfterMs: times.notAfterMs,
      renewAtMs: renewAtMs(times),
    })
    return [
      ...[...this.#authorities.values()].map((authority) => line(authority.name, authority.certificatePem, authority)),
      ...[...this.#identities.values()].map(({ identity, pair }) => line(identity.name, pair.certificatePem, pair, identity.signer)),
    ]
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#changes[Symbol.dispose]()
    this.#expiry[Symbol.dispose]()
    this.#renewal?.cancel()
    this.#listeners.clear()
  }

  #now(): number {
    return this.#options.clock.now()
  }

  async #issue(identity: Identity): Promise<KeyPair> {
    const pair = issueIdentity(identity, this.authority(identity.signer), this.#now(), this.#options.random)
    await this.#options.directory.writeIdentity(identity.name, pair)
    return pair
  }

  async #renewWhere(isChosen: (name: string, times: Times) => boolean): Promise<string[]> {
    const changed: string[] = []
    // Authorities first: no certificate outlives its issuer.
    for (const authority of this.#authorities.values()) {
      if (authority.signer === undefined || !isChosen(authority.name, authority)) continue
      const renewed = renewedAuthority(authority, this.#now(), this.#options.random)
      await this.#options.directory.writeAuthority(renewed)
      this.#authorities.set(renewed.name, renewed)
      changed.push(renewed.name)
    }
    for (const entry of this.#identities.values()) {
      if (!isChosen(entry.identity.name, entry.pair)) continue
      entry.pair = await this.#issue(entry.identity)
      changed.push(entry.identity.name)
    }
    this.#tell(changed)
    this.#schedule()
    return changed
  }

  /** What others wrote into the directory is taken over if it can serve; what a new authority does not cover is issued anew. */
  async #reloadAll(): Promise<void> {
    const { directory } = this.#options
    const changed: string[] = []
    for (const authority of this.#authorities.values()) {
      const found = await directory.readAuthority(authority.name)
      if (found === undefined) continue
      // Its key may have come or gone.
      this.#authorities.set(found.name, found)
      if (found.certificatePem !== authority.certificatePem) changed.push(found.name)
    }
    for (const entry of this.#identities.values()) {
      const { identity, pair } = entry
      const found = await directory.readIdentity(identity.name)
      const authority = this.authority(identity.signer)
      if (found !== undefined && found.certificatePem !== pair.certificatePem && serves(found, identity, authority)) entry.pair = found
      else if (!serves(pair, identity, authority)) {
        if (authority.signer !== undefined) entry.pair = await this.#issue(identity)
        else this.#options.log.error(`${identity.name}.pem is not of ${authority.name}.crt, whose key is not there: replace it`)
      }
      if (entry.pair !== pair) changed.push(identity.name)
    }
    const serviceAccountKeys = await directory.readServiceAccountKeys()
    if (serviceAccountKeys !== undefined && !sameKeys(serviceAccountKeys, this.#serviceAccountKeys)) {
      this.#serviceAccountKeys = serviceAccountKeys
      changed.push('sa')
    }
    this.#tell(changed)
    this.#expiry.look()
    this.#schedule()
  }

  #canRenew(name: string): boolean {
    const signer = this.#identities.get(name)?.identity.signer ?? (name as AuthorityName)
    return this.authority(signer).signer !== undefined
  }

  #keptByOthers(): WatchedCertificate[] {
    const all = [
      ...[...this.#authorities.values()].map((authority) => ({ ...authority, place: `${authority.name}.crt` })),
      ...[...this.#identities].map(([name, { pair }]) => ({ ...pair, name, place: `${name}.pem` })),
    ]
    return all.filter(({ name }) => !this.#canRenew(name))
  }

  #schedule(): void {
    // What was under way when this ended must not begin anew.
    if (this.#isOver) return
    const all: [string, Times][] = [...this.#authorities, ...[...this.#identities].map(([name, { pair }]): [string, Times] => [name, pair])]
    const due = all.filter(([name]) => this.#canRenew(name)).map(([, times]) => renewAtMs(times))
    const delayMs = Math.min(...due) - this.#now()
    this.#renewal?.cancel()
    this.#renewal = this.#options.clock.after(Math.min(Math.max(delayMs, settleMs), longestSleepMs), () =>
      this.#exclusively(() => {
        const nowMs = this.#now()
        return this.#renewWhere((name, times) => nowMs >= renewAtMs(times) && this.#canRenew(name))
      }).catch((error: unknown) => this.#failed('renewing certificates', error)),
    )
  }

  #failed(action: string, error: unknown): void {
    this.#options.log.error(`${action} failed`, { error })
    this.#renewal?.cancel()
    if (!this.#isOver) this.#renewal = this.#options.clock.after(longestSleepMs, () => this.#schedule())
  }

  #exclusively<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#busy.then(run)
    // Whoever asked for it gets the failure; the next one only waits for its end.
    this.#busy = result.catch(() => {})
    return result
  }

  #tell(changed: readonly string[]): void {
    if (changed.length === 0) return
    this.#options.log.info('renewed certificates', { names: changed })
    for (const listener of this.#listeners) listener(changed)
  }
}

type Times = { readonly notBeforeMs: number; readonly notAfterMs: number }

function renewAtMs({ notBeforeMs, notAfterMs }: Times): number {
  return notAfterMs - (notAfterMs - notBeforeMs) / 3
}

async function readOrCreateAuthority(name: AuthorityName, { directory, clock, random }: ClusterKeysOptions): Promise<Authority> {
  const kept = await directory.readAuthority(name)
  if (kept !== undefined) return kept
  const { authority, privateKeyPem } = newAuthority(name, clock.now(), random)
  await directory.writeAuthority(authority, privateKeyPem)
  return authority
}

/** P-256: upstream's RSA takes a tenth of a second to make, and more to sign with than all else in a token. */
async function readOrCreateServiceAccountKeys(directory: KeyDirectory): Promise<ServiceAccountKeys> {
  const kept = await directory.readServiceAccountKeys()
  if (kept !== undefined) return kept
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKey = createPublicKey(privateKey)
  await directory.writeServiceAccountKeys(pemOf(privateKey), publicKey.export({ format: 'pem', type: 'spki' }).toString())
  return { privateKey, publicKeys: [publicKey] }
}

function sameKeys(left: ServiceAccountKeys, right: ServiceAccountKeys): boolean {
  const same = left.publicKeys.length === right.publicKeys.length && left.privateKey.equals(right.privateKey)
  return same && left.publicKeys.every((key, index) => right.publicKeys[index]?.equals(key))
}
