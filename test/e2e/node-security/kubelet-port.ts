/** What a node shows to those who should not see it: its port, and its files. */
import { readdirSync, statSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import { systemRandom } from '#base/random.ts'

/** What the node's port answers to a list of its pods. */
export function statusOf(kubelet: { host: string; port: number }, tls: SecureContextOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...kubelet, ...tls, path: '/pods', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** For a member of system:masters, as an authority has signed it that nobody knows. */
export function strangersPair(): { cert: string; key: string } {
  const { authority } = newAuthority('ca', Date.now(), systemRandom)
  const subject = { commonName: 'root', organizations: ['system:masters'] }
  const pair = issueIdentity({ name: 'x', signer: 'ca', subject, usages: ['clientAuth'] }, authority, Date.now(), systemRandom)
  return { cert: pair.certificatePem, key: pair.privateKeyPem }
}

/** Keys and kubeconfigs below a directory, and directories of keys, that somebody beside their owner may read. */
export function readableByOthers(directory: string): string[] {
  const found: string[] = []
  for (const entry of unlessGone(() => readdirSync(directory, { withFileTypes: true })) ?? []) {
    const path = join(directory, entry.name)
    if (ofOthers.test(entry.name)) continue
    if (entry.isDirectory()) found.push(...readableByOthers(path))
    const isSecret = entry.isDirectory() ? entry.name === 'pki' : entry.isFile() && keyFile.test(entry.name)
    if (isSecret && ((unlessGone(() => statSync(path).mode) ?? 0) & 0o077) !== 0) found.push(path)
  }
  return found
}

/** Files come and go meanwhile. */
function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const keyFile = /\.(key|pem|conf|kubeconfig)$/
/** What is in containers, volumes and images belongs to those who use them. */
const ofOthers = /^(pods|images|containers|sandboxes|containerd|snapshots|volumes|plugins)$/
