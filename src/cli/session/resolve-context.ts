/** Which server to talk to and as whom: the kubeconfig, overruled by flags. */

import { resolve } from 'node:path'
import { isWithoutProxy } from '#base/without-proxy.ts'
import { CliError, PlainError } from '#cli/cli-error.ts'
import type { Flags } from '#cli/flags/flags.ts'
import type { Host } from '#cli/host.ts'
import { inClusterContext } from '#client/kubeconfig/connect.ts'
import { type KubeconfigContext, readCluster, readUser } from '#client/kubeconfig/kubeconfig.ts'
import { fileErrorText } from './file-error-text.ts'
import { directoryOf, readMergedConfig } from './kubeconfig-files.ts'
import { clusterProblems, userProblems } from './usable-config.ts'

export type ResolvedContext = KubeconfigContext & {
  /** Said with a flag, not by the kubeconfig. */
  isNamespaceGiven: boolean
  /** The kubeconfigs that were read. */
  paths: readonly string[]
  /** Where the user is written, for tokens that are renewed. */
  userEntry?: { name: string; path: string }
}

const clusterFlags = { server: 'server', 'certificate-authority': 'certificate-authority', 'tls-server-name': 'tls-server-name' } as const
const userFlags = {
  token: 'token',
  username: 'username',
  password: 'password',
  'client-certificate': 'client-certificate',
  'client-key': 'client-key',
  as: 'as',
  'as-uid': 'as-uid',
} as const

export async function resolveContext(flags: Flags, host: Host): Promise<ResolvedContext> {
  const config = await readMergedConfig(flags, host)
  const contextName = flags.text('context') || config.currentContext
  const found = config.contexts.get(contextName)
  if (found === undefined && flags.text('context') !== '') {
    if (flags.isSet('namespace')) throw new CliError(`context "${contextName}" does not exist`)
    throw new PlainError(`Error in configuration: context was not found for specified context: ${contextName}`)
  }
  const context = found?.value ?? {}
  const clusterName = flags.text('cluster') || String(context['cluster'] ?? '')
  const userName = flags.text('user') || String(context['user'] ?? '')
  const clusterEntry = config.clusters.get(clusterName)
  const userEntry = config.users.get(userName)
  if (flags.text('cluster') !== '' && clusterEntry === undefined) throw new CliError(`no server found for cluster "${clusterName}"`)
  if (flags.text('user') !== '' && userEntry === undefined) throw new CliError(`auth info "${userName}" does not exist`)

  const isGiven = (flag: string) => flags.isSet(flag) && flags.text(flag) !== ''
  const cluster: Record<string, unknown> = { ...clusterEntry?.value }
  const user: Record<string, unknown> = { ...userEntry?.value }
  override(cluster, clusterFlags, flags)
  if (isGiven('certificate-authority')) delete cluster['certificate-authority-data']
  if (flags.isSet('insecure-skip-tls-verify')) cluster['insecure-skip-tls-verify'] = flags.isOn('insecure-skip-tls-verify')
  if (flags.isOn('insecure-skip-tls-verify'))
    for (const field of ['certificate-authority', 'certificate-authority-data']) delete cluster[field]
  if (flags.isSet('token')) for (const field of ['tokenFile', 'exec', 'username', 'password']) delete user[field]
  if (isGiven('client-certificate')) delete user['client-certificate-data']
  if (isGiven('client-key')) delete user['client-key-data']
  override(user, userFlags, flags)
  if (flags.isSet('as-group')) user['as-groups'] = flags.list('as-group')
  if (flags.isSet('as-user-extra')) user['as-user-extra'] = extras(flags.list('as-user-extra'))
  if (user['as'] === undefined && (flags.isSet('as-group') || flags.isSet('as-uid') || flags.isSet('as-user-extra')))
    throw new CliError(`requesting uid, groups or user-extra for ${userName} without impersonating a user`)

  const given = flags.text('namespace')
  const namespace = given || String(context['namespace'] ?? '') || 'default'
  if (!cluster['server']) {
    const inside = config.paths.length === 0 ? await inClusterContext(host.environment, host.files) : undefined
    if (inside !== undefined)
      return { ...inside, namespace: given || inside.namespace || 'default', isNamespaceGiven: given !== '', paths: [] }
    cluster['server'] = 'http://localhost:8080'
  }
  const [clusterDirectory, userDirectory] = [
    clusterEntry === undefined ? '' : directoryOf(clusterEntry),
    userEntry === undefined ? '' : directoryOf(userEntry),
  ]
  const problems = [
    ...(found === undefined && contextName !== '' ? [`context was not found for specified context: ${contextName}`] : []),
    ...(await userProblems({ name: userName, value: user, directory: userDirectory }, host.files)),
    ...(await clusterProblems({ name: clusterName, value: cluster, directory: clusterDirectory }, host.files)),
  ]
  if (problems.length > 0)
    throw new PlainError(
      `Error in configuration: ${problems.length === 1 ? problems[0] : problems.map((problem) => `\n* ${problem}`).join('')}`,
    )
  const read = async <T>(part: Promise<T>): Promise<T> => {
    try {
      return await part
    } catch (error) {
      throw new CliError(fileErrorText(error))
    }
  }
  return {
    name: contextName,
    namespace,
    isNamespaceGiven: given !== '',
    paths: config.paths,
    ...(userEntry === undefined ? {} : { userEntry: { name: userName, path: userEntry.path } }),
    cluster: {
      ...(await read(readCluster(host.files, { value: cluster, directory: clusterDirectory }))),
      ...environmentProxy(cluster, host),
    },
    user: await read(readUser(host.files, { value: user, directory: userDirectory })),
  }
}

/** Of files named by flags, unlike those of a kubeconfig, the path begins where the command was typed. */
const pathFlags = new Set(['certificate-authority', 'client-certificate', 'client-key'])

function override(target: Record<string, unknown>, fields: Readonly<Record<string, string>>, flags: Flags): void {
  for (const [flag, field] of Object.entries(fields))
    if (flags.isSet(flag) && flags.text(flag) !== '') target[field] = pathFlags.has(flag) ? resolve(flags.text(flag)) : flags.text(flag)
  // A server without a scheme is one without TLS.
  const server = target['server']
  if ('server' in fields && typeof server === 'string' && server !== '' && !server.includes('://')) target['server'] = `http://${server}`
}

function extras(pairs: readonly string[]): Record<string, string[]> {
  const result: Record<string, string[]> = {}
  for (const pair of pairs) {
    const [key = '', value] = splitAt(pair, '=')
    if (value === undefined) throw new CliError(`malformed --as-user-extra ${pair}, the expected format is key=value`)
    result[key] = [...(result[key] ?? []), value]
  }
  return result
}

export function splitAt(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** In Go's words. */
function addressProblem(server: string): string {
  const port = /^\w+:\/\/[^/]*?:([^/:]*)$/.exec(server)?.[1]
  return port !== undefined && !/^\d*$/.test(port)
    ? `invalid port ":${port}" after host`
    : `host must be a URL or a host:port pair: "${server}"`
}

/** What the environment says of proxies, unless the kubeconfig names one. */
function environmentProxy(cluster: Record<string, unknown>, { environment }: Host): { proxyUrl?: string } {
  if (cluster['proxy-url']) return {}
  const server = String(cluster['server'])
  if (!URL.canParse(server)) throw new PlainError(`Unable to connect to the server: ${addressProblem(server)}`)
  const { protocol, hostname, port } = new URL(server)
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxyUrl = environment[name] || environment[name.toLowerCase()]
  const exceptions = (environment['NO_PROXY'] || environment['no_proxy'] || '').split(',').map((each) => each.trim())
  const isLocal = hostname === 'localhost' || hostname.startsWith('127.') || hostname === '[::1]'
  const isException = exceptions.some(
    (each) => each !== '' && isWithoutProxy(hostname, port || (protocol === 'https:' ? '443' : '80'), each),
  )
  return proxyUrl && !isLocal && !isException ? { proxyUrl } : {}
}
