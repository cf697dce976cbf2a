/** `--match-server-version` */
import { CliError } from '#cli/cli-error.ts'
import { clientVersion, type VersionInfo } from '#cli/kubectl-version.ts'
import type { Rest } from './rest.ts'

/** Throws unless the server is of exactly the version whose behaviour this kubectl has. */
export async function requireSameVersion(rest: Rest): Promise<void> {
  const server = await rest.json<VersionInfo>({ path: '/version' })
  const client = clientVersion()
  if (server.gitVersion !== client.gitVersion)
    throw new CliError(`server version (&${goText(server)}) differs from client version (${goText(client)})`)
}

const fields = [
  'major',
  'minor',
  'emulationMajor',
  'emulationMinor',
  'minCompatibilityMajor',
  'minCompatibilityMinor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
] as const

/** As Go prints such a struct. */
function goText(version: VersionInfo): string {
  const parts = fields.map((field) => `${field[0]?.toUpperCase()}${field.slice(1)}:${JSON.stringify(version[field] ?? '')}`)
  return `version.Info{${parts.join(', ')}}`
}
