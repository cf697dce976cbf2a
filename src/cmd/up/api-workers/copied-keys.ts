import type { CertificateAndKey, ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { KeysCopy } from '#cmd/up/api-workers/worker-messages.ts'

export function copyOfKeys(keys: ServerKeys): KeysCopy {
  const pair = (identity: CertificateAndKey) => ({ certificatePem: identity.certificatePem, privateKeyPem: identity.privateKeyPem })
  const pairIfAny = (name: 'apiserver-kubelet-client' | 'front-proxy-client') => {
    const identity = keys.identity(name)
    return identity && pair(identity)
  }
  const { privateKey, publicKeys } = keys.serviceAccountKeys
  return {
    authorities: { ca: keys.authority('ca').certificatePem, 'front-proxy-ca': keys.authority('front-proxy-ca').certificatePem },
    identities: {
      apiserver: pair(keys.identity('apiserver')),
      'apiserver-kubelet-client': pairIfAny('apiserver-kubelet-client'),
      'front-proxy-client': pairIfAny('front-proxy-client'),
    },
    serviceAccountKeys: { privateKey, publicKeys: [...publicKeys] },
  }
}

/** The keys that another thread looks after. */
export class CopiedKeys implements ServerKeys {
  readonly #listeners = new Set<(changed: readonly string[]) => void>()
  #copy: KeysCopy

  constructor(copy: KeysCopy) {
    this.#copy = copy
  }

  get serviceAccountKeys() {
    return this.#copy.serviceAccountKeys
  }

  authority(name: 'ca' | 'front-proxy-ca'): { certificatePem: string } {
    return { certificatePem: this.#copy.authorities[name] }
  }

  identity(name: 'apiserver'): CertificateAndKey
  identity(name: 'apiserver-kubelet-client' | 'front-proxy-client'): CertificateAndKey | undefined
  identity(name: keyof KeysCopy['identities']): CertificateAndKey | undefined {
    return this.#copy.identities[name]
  }

  onChange(listener: (changed: readonly string[]) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  replace(copy: KeysCopy, changed: readonly string[]): void {
    this.#copy = copy
    for (const listener of this.#listeners) listener(changed)
  }
}
