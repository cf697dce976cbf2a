/** `kubectl version` */

import { jsonText } from '#api/codec/json-text.ts'
import { yamlText } from '#api/codec/yaml.ts'
import { defined } from '#base/defined.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { clientVersion, kubectlVersion, kustomizeVersion } from '#cli/kubectl-version.ts'

type Version = { major?: string; minor?: string; gitVersion?: string }

export async function version(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  if (args.length > 0) throw new CliError(`extra arguments: [${args.join(' ')}]`)
  const output = flags.text('output')
  if (output !== '' && output !== 'yaml' && output !== 'json') throw new CliError("--output must be 'yaml' or 'json'")
  const client = clientVersion()
  const { major, minor } = client
  let server: Version | undefined
  let failure: unknown
  if (!flags.isOn('client')) {
    try {
      server = await (await session.rest).json<Version>({ path: '/version' })
    } catch (error) {
      failure = error
    }
  }
  if (failure !== undefined && flags.isOn('match-server-version')) throw failure
  const info = { clientVersion: client, kustomizeVersion, ...defined({ serverVersion: server }) }
  if (output === 'yaml') host.write(`${yamlText(info)}\n`)
  else if (output === 'json') host.write(`${jsonText(info, 2)}\n`)
  else {
    host.write(`Client Version: ${kubectlVersion}\nKustomize Version: ${kustomizeVersion}\n`)
    if (server !== undefined) host.write(`Server Version: ${server.gitVersion}\n`)
  }
  if (failure !== undefined) throw failure
  const skew = Math.abs(Number.parseInt(server?.minor ?? minor, 10) - Number(minor))
  if (skew > 1)
    host.complain(
      `Warning: version difference between client (${major}.${minor}) and server (${server?.major}.${server?.minor}) exceeds the supported minor version skew of +/-1\n`,
    )
}
