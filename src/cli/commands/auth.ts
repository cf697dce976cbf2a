/** `kubectl auth can-i` and `kubectl auth whoami` */

import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, PlainError } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { printerFor } from '#cli/print/printer.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { splitAt } from '#cli/session/resolve-context.ts'

type AccessReview = { status: { allowed: boolean; reason?: string; evaluationError?: string } }

export async function canI(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  if (flags.isOn('list')) {
    if (args.length > 0) throw new CliError('list option must be specified with no arguments')
    if (flags.isOn('quiet') || flags.isOn('all-namespaces') || flags.text('subresource') !== '')
      throw new CliError("list option can't be specified with neither quiet, all-namespaces nor subresource options")
    const { listAccess } = await import('./auth-list.ts')
    return listAccess(call)
  }
  const [verb, what] = args
  if (verb === undefined || what === undefined || args.length > 2)
    throw new CliError(
      "you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for help and examples.",
    )
  const isQuiet = flags.isOn('quiet')
  const subresource = flags.text('subresource')
  const isUrl = what.startsWith('/')
  if (isUrl && subresource !== '') throw new CliError('--subresource can not be used with NonResourceURL')
  const namespace = flags.isOn('all-namespaces') ? '' : await session.namespace()
  const spec = isUrl
    ? { nonResourceAttributes: { path: what, verb } }
    : { resourceAttributes: { ...(await attributesOf(call, what, namespace)), verb, ...omitEmpty({ subresource }) } }
  if (!verbs.has(verb)) warn(call, `verb '${verb}' is not a known verb\n`)
  const rest = await session.rest
  const { status } = await rest.json<AccessReview>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec, status: { allowed: false } },
  })
  const details = [status.reason, status.evaluationError].filter((each) => each).map((each) => ` - ${each}`)
  if (!isQuiet) host.write(status.allowed ? 'yes\n' : `no${details.join('')}\n`)
  if (!status.allowed) throw new PlainError('', 1)
}

const verbs = new Set(
  'get list watch create update patch delete deletecollection use bind escalate impersonate approve sign attest * proxy post put head options'.split(
    ' ',
  ),
)

const warn = ({ host }: Call, text: string): void => host.complain(`Warning: ${text}\n`)

async function attributesOf(
  call: Call,
  what: string,
  namespace: string,
): Promise<{ namespace?: string; group?: string; resource: string; name?: string }> {
  const [resource, name] = splitAt(what, '/')
  const place = { ...omitEmpty({ namespace }), ...defined({ name }) }
  if (resource === '*') return { ...place, resource }
  const type = await (await call.session.types).find(resource)
  if (type === undefined) {
    const [plain, group] = splitAt(resource, '.')
    // Whom one may act for is no resource of a server.
    if (plain !== 'users' && plain !== 'groups')
      warn(
        call,
        group === undefined
          ? `the server doesn't have a resource type '${plain}'\n`
          : `the server doesn't have a resource type '${plain}' in group '${group}'\n`,
      )
    return { ...place, resource: plain, ...defined({ group }) }
  }
  if (!type.isNamespaced && call.flags.isOn('all-namespaces') === false && namespace !== '')
    warn(call, `resource '${type.plural}' is not namespace scoped${type.group === '' ? '' : ` in group '${type.group}'`}\n`)
  return { ...place, ...omitEmpty({ group: type.group }), resource: type.plural }
}

type SelfReview = ApiObject & {
  status: { userInfo: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> } }
}

export async function whoAmI(call: Call): Promise<void> {
  const { host, session } = call
  const rest = await session.rest
  const body = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, status: { userInfo: {} } }
  const review = await rest.json<SelfReview>({ method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', body })
  const printer = await printerFor(call)
  if (printer !== undefined) return host.write(printer(asTyped(review)))
  const { username, uid, groups = [], extra = {} } = review.status.userInfo
  const out = new TabWriter()
  out.row(['ATTRIBUTE', 'VALUE'])
  if (username) out.row(['Username', username])
  if (uid) out.row(['UID', uid])
  if (groups.length > 0) out.row(['Groups', `[${groups.join(' ')}]`])
  for (const key of Object.keys(extra).sort()) out.row([`Extra: ${key}`, `[${(extra[key] ?? []).join(' ')}]`])
  host.write(out.flush())
}
