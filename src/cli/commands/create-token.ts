/** `kubectl create token` */
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError } from '#cli/cli-error.ts'
import { nameArgument } from '#cli/create/create-object.ts'
import { printerFor } from '#cli/print/printer.ts'

const boundKinds: Readonly<Record<string, string>> = { Pod: 'v1', Secret: 'v1', Node: 'v1' }

export async function createToken(call: Call): Promise<void> {
  const { flags, host, session } = call
  const name = nameArgument(call)
  const durationMs = flags.durationMs('duration')
  if (durationMs < 0) throw new CliError('--duration must be greater than or equal to 0')
  if (durationMs % 1000 !== 0) throw new CliError('--duration cannot be expressed in units less than seconds')
  const audiences = flags.list('audience')
  if (audiences.some((each) => each === '')) throw new CliError('--audience must not be an empty string')
  const [kind, bound, uid] = [flags.text('bound-object-kind'), flags.text('bound-object-name'), flags.text('bound-object-uid')]
  if (kind === '') {
    if (bound !== '') throw new CliError('--bound-object-name can only be set if --bound-object-kind is provided')
    if (uid !== '') throw new CliError('--bound-object-uid can only be set if --bound-object-kind is provided')
  } else {
    if (boundKinds[kind] === undefined)
      throw new CliError(`supported --bound-object-kind values are ${Object.keys(boundKinds).sort().join(', ')}`)
    if (bound === '') throw new CliError('--bound-object-name is required if --bound-object-kind is provided')
  }
  const spec = {
    audiences: audiences.length > 0 ? audiences : null,
    expirationSeconds: durationMs > 0 ? durationMs / 1000 : null,
    boundObjectRef: kind === '' ? null : { kind, apiVersion: boundKinds[kind], name: bound, ...omitEmpty({ uid }) },
  }
  const printer = await printerFor(call)
  const rest = await session.rest
  const namespace = await session.namespace()
  let answer: ApiObject & { status: { token?: string } }
  try {
    answer = await rest.json({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: {},
        spec,
        status: { token: '', expirationTimestamp: null },
      },
    })
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) throw new CliError(`failed to create token: ${error.message}`)
    throw error instanceof ApiError ? new CliError(`failed to create token: ${error.message}`) : error
  }
  if (!answer.status.token) throw new CliError('failed to create token: no token in server response')
  host.write(printer === undefined ? `${answer.status.token}\n` : printer(answer))
}
