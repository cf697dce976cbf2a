import { X509Certificate } from 'node:crypto'
import type { ServiceAccountKeys } from '#apiserver/pki/key-directory.ts'

export type CertificateAndKey = { readonly certificatePem: string; readonly privateKeyPem: string }

/** What an API server shows and whom it believes: a cluster's own keys, or files that somebody else looks after. */
export type ServerKeys = {
  /** PEM, of one authority or several; empty where certificates of none are believed. */
  authority(name: 'ca' | 'front-proxy-ca'): { readonly certificatePem: string }
  identity(name: 'apiserver'): CertificateAndKey
  /** Undefined where it has none to show. */
  identity(name: 'apiserver-kubelet-client' | 'front-proxy-client'): CertificateAndKey | undefined
  readonly serviceAccountKeys: ServiceAccountKeys
  /** The names of what has changed are told after the fact; read anew what you use. */
  onChange(listener: (changed: readonly string[]) => void): Disposable
}

/** The same array for the same authorities: what was verified against them is remembered by that. */
export function anchorsOf(keys: ServerKeys, name: 'ca' | 'front-proxy-ca'): () => readonly X509Certificate[] {
  let pem = ''
  let anchors: readonly X509Certificate[] = []
  return () => {
    const current = keys.authority(name).certificatePem
    if (current !== pem) {
      pem = current
      anchors = certificatesIn(current)
    }
    return anchors
  }
}

export function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}
