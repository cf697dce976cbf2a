import { type Authority, issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import type { Identity } from '#apiserver/pki/identities.ts'
import { systemRandom } from '#base/random.ts'
import type { Credential } from './ask.ts'

const dayMs = 24 * 3600 * 1000

/** A good client and a good front proxy, and what looks like them. */
export function clientCertificates(ca: Authority, proxyCa: Authority): Record<string, Credential> {
  const own = newAuthority('ca', Date.now(), systemRandom).authority
  const client = (commonName: string, signer: Authority, nowMs = Date.now(), usage: 'clientAuth' | 'serverAuth' = 'clientAuth') => {
    const identity: Identity = { name: 'x', signer: 'ca', subject: { commonName, organizations: ['dev'] }, usages: [usage] }
    const { certificatePem: cert, privateKeyPem: key } = issueIdentity(identity, signer, nowMs, systemRandom)
    return { cert, key }
  }
  const headers = { 'X-Remote-User': 'remo', 'X-Remote-Group': ['far', 'away'] }
  return {
    certificate: client('carl', ca),
    'certificate, expired': client('carl', ca, Date.now() - 400 * dayMs),
    'certificate of another authority': client('carl', own),
    'certificate of a server': client('carl', ca, Date.now(), 'serverAuth'),
    'front proxy': { ...client('front-proxy-client', proxyCa), headers },
    'front proxy, expired': { ...client('front-proxy-client', proxyCa, Date.now() - 400 * dayMs), headers },
    'front proxy of another name': { ...client('somebody', proxyCa), headers },
    'front proxy of another authority': { ...client('front-proxy-client', own), headers },
  }
}
