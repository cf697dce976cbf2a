import type { SubjectName } from '#wire/x509/distinguished-name.ts'

/** Whose certificate: the names and groups that upstream's default roles are bound to. */
export function clientSubject(who: string, name: string | undefined, groups: readonly string[]): { file: string; subject: SubjectName } {
  if (who === 'admin') return { file: 'admin', subject: { commonName: 'kubernetes-admin', organizations: ['system:masters'] } }
  if (who === 'proxy') return { file: 'kube-proxy', subject: { commonName: 'system:kube-proxy', organizations: ['system:node-proxier'] } }
  if (who !== 'user' && who !== 'node') throw new Error(`certs issue: ${who} is none of user, node, admin, proxy`)
  if (name === undefined || name === '') throw new Error(`certs issue ${who}: give a name`)
  if (/[/\\\0]/.test(name)) throw new Error(`certs issue ${who}: ${JSON.stringify(name)} cannot be the name of a file`)
  if (who === 'node') return { file: name, subject: { commonName: `system:node:${name}`, organizations: ['system:nodes'] } }
  return { file: name, subject: { commonName: name, organizations: [...groups] } }
}
