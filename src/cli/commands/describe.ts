/** `kubectl describe` */
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { describeInfo } from '#cli/describe/describe-object.ts'
import { findInfos, infoOfObject, listAll } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { hasManifests } from '#cli/resources/read-manifests.ts'
import { typesOf } from '#cli/resources/select-resources.ts'

export async function describe(call: Call): Promise<void> {
  const { args, flags, host } = call
  if (args.length === 0 && !hasManifests(call))
    throw new CliError(
      'You must specify the type of resource to describe. Use "kubectl api-resources" for a complete list of supported resources.',
    )
  const { infos, errors: unsorted, isByPrefix } = await findAll(call)
  const isRefusal = (error: unknown) => error instanceof ApiError
  // What cannot be read is told before what the server does not have.
  const errors = [...unsorted.filter((error) => !isRefusal(error)), ...unsorted.filter(isRefusal)]
  const askedFor = infos.length + unsorted.filter(isRefusal).length
  // Events of many objects would be many requests: they are shown of one, or where they are asked for.
  const showsEvents = flags.isSet('show-events') ? flags.isOn('show-events') : askedFor <= 1 && !isByPrefix
  for (const [index, info] of infos.entries()) {
    try {
      const text = await describeInfo(call, info, showsEvents)
      host.write(isByPrefix ? `${text}\n` : `${index > 0 ? '\n\n' : ''}${text}`)
    } catch (error) {
      errors.push(error)
    }
  }
  if (infos.length === 0 && errors.length === 0)
    host.complain(
      flags.isOn('all-namespaces') ? 'No resources found\n' : `No resources found in ${await call.session.namespace()} namespace.\n`,
    )
  throwAll(errors)
}

/** A name that no object has may be the beginning of several. */
async function findAll(call: Call): Promise<{ infos: Info[]; errors: unknown[]; isByPrefix: boolean }> {
  try {
    return { ...(await findInfos(call, { typeAloneIsEnough: true })), isByPrefix: false }
  } catch (error) {
    const [type, prefix] = call.args
    const isPrefix =
      error instanceof ApiError &&
      error.isNotFound &&
      call.args.length === 2 &&
      type !== undefined &&
      prefix !== undefined &&
      !type.includes('/')
    if (!isPrefix) throw error
    const [found] = await typesOf(call, type)
    if (found === undefined) throw error
    const namespace = found.isNamespaced ? await call.session.namespace() : ''
    const { items } = await listAll(call, found, { namespace })
    const infos = items.filter(({ metadata }) => metadata?.name?.startsWith(prefix)).map((item) => infoOfObject(found, item))
    if (infos.length === 0) throw error
    return { infos, errors: [], isByPrefix: true }
  }
}
