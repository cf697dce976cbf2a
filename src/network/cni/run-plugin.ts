/** One call of a plugin, from the environment and the input that a runtime gives it to what it prints. */
import {
  CniError,
  type CniPlugin,
  type CniRequest,
  type CniSeams,
  newestVersion,
  type PluginConf,
  readResult,
  supportedVersions,
  writeResult,
} from '#network/cni/contract.ts'

export type PluginOutcome = { exitCode: number; output: string }

type Environment = Record<string, string | undefined>

export async function runPlugin(plugin: CniPlugin, environment: Environment, input: string, seams: CniSeams): Promise<PluginOutcome> {
  let cniVersion: string = newestVersion
  try {
    if (environment['CNI_COMMAND'] === 'VERSION') {
      return { exitCode: 0, output: JSON.stringify({ cniVersion: newestVersion, supportedVersions }) }
    }
    const conf = readConf(input)
    const request = readRequest(environment, conf, seams)
    cniVersion = conf.cniVersion
    const answer = await call(plugin, request)
    return { exitCode: 0, output: answer === undefined ? '' : JSON.stringify(answer) }
  } catch (error) {
    const code = error instanceof CniError ? error.code : 100
    return { exitCode: 1, output: JSON.stringify({ cniVersion, code, msg: error instanceof Error ? error.message : String(error) }) }
  }
}

async function call(plugin: CniPlugin, request: CniRequest): Promise<object | undefined> {
  const { command, conf } = request
  switch (command) {
    case 'ADD':
      return writeResult(await plugin.add(request), conf.cniVersion)
    case 'DEL':
      await plugin.remove(request)
      return undefined
    case 'CHECK':
      requireVersion(conf, ['0.4.0', '1.0.0', '1.1.0'], command)
      if (request.prevResult === undefined) throw new CniError(7, 'CHECK needs the result of the ADD before: prevResult is missing')
      await plugin.check?.(request)
      return undefined
    case 'GC':
      requireVersion(conf, ['1.1.0'], command)
      await plugin.collect?.(request, conf['cni.dev/valid-attachments'] ?? [])
      return undefined
    case 'STATUS':
      requireVersion(conf, ['1.1.0'], command)
      await plugin.status?.(request)
      return undefined
    default:
      throw new CniError(4, `unknown CNI_COMMAND: ${command}`)
  }
}

function requireVersion({ cniVersion }: PluginConf, versions: readonly string[], command: string): void {
  if (!versions.includes(cniVersion)) throw new CniError(1, `config version ${cniVersion} does not allow ${command}`)
}

function readConf(input: string): PluginConf {
  let conf: unknown
  try {
    conf = JSON.parse(input)
  } catch (error) {
    throw new CniError(6, `the network configuration is no JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (conf === null || typeof conf !== 'object' || Array.isArray(conf)) throw new CniError(6, 'the network configuration is no object')
  const { cniVersion = '0.1.0', name = '' } = conf as Partial<PluginConf>
  if (!(supportedVersions as readonly string[]).includes(cniVersion)) {
    throw new CniError(
      1,
      `incompatible CNI versions: config is "${cniVersion}", plugin supports [${supportedVersions.map((one) => `"${one}"`).join(' ')}]`,
    )
  }
  // It becomes a part of paths.
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) throw new CniError(7, `invalid network name ${JSON.stringify(name)}`)
  return { ...(conf as PluginConf), cniVersion, name }
}

/** Which variables a command cannot do without. */
const needed: Record<string, readonly string[]> = {
  ADD: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
  DEL: ['CNI_CONTAINERID', 'CNI_IFNAME', 'CNI_PATH'],
  CHECK: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
  GC: ['CNI_PATH'],
  STATUS: ['CNI_PATH'],
}

function readRequest(environment: Environment, conf: PluginConf, seams: CniSeams): CniRequest {
  const value = (name: string) => environment[name] ?? ''
  const command = value('CNI_COMMAND')
  const missing = (needed[command] ?? []).filter((name) => value(name) === '')
  if (missing.length > 0) throw new CniError(4, `required env variables [${missing.join(',')}] missing`)
  const [containerId, ifName] = [value('CNI_CONTAINERID'), value('CNI_IFNAME')]
  if (containerId !== '' && !/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(containerId)) throw new CniError(4, `invalid container ID ${containerId}`)
  // It becomes a part of what ip, tc and nft are told.
  if (ifName !== '' && (ifName.length > 15 || !/^[\w.@+=~-]+$/.test(ifName) || ifName === '.' || ifName === '..')) {
    throw new CniError(4, `invalid interface name ${ifName}`)
  }
  if (/["\\\p{Cc}]/u.test(value('CNI_NETNS'))) throw new CniError(4, `invalid network namespace ${JSON.stringify(value('CNI_NETNS'))}`)
  const pairs = value('CNI_ARGS')
    .split(';')
    .filter((pair) => pair.includes('='))
  return {
    ...{ command, containerId, ifName, netns: value('CNI_NETNS'), conf, seams },
    args: new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])),
    path: value('CNI_PATH')
      .split(':')
      .filter((directory) => directory !== ''),
    prevResult: conf.prevResult === undefined ? undefined : readResult(conf.prevResult),
    environment: Object.fromEntries(
      Object.entries(environment).filter((entry): entry is [string, string] => entry[0].startsWith('CNI_') && entry[1] !== undefined),
    ),
  }
}
