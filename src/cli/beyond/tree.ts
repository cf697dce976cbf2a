/** `tn tree KIND/NAME`: what owns an object and what it owns, with readiness. */

import { ageOf } from '#api/meta/human-duration.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { printerFor } from '#cli/print/printer.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import { type Owned, ownedObjects, readinessOf } from './owners.ts'

type Node = { kind: string; name: string; ready: string; reason: string; age: string; isAsked?: boolean; owns: Node[] }

export async function tree(call: Call): Promise<void> {
  const { host } = call
  const { infos } = await findInfos(call)
  const [info] = infos
  if (info === undefined || infos.length > 1) throw new CliError('tree shows one object: name it as TYPE/NAME')
  const owned = await ownedObjects(call, info.namespace || (await call.session.namespace()))
  const root = await topOwner(call, { object: info.object, type: info.type })
  const node = nodeOf(call, root, owned, info.object.metadata?.uid ?? '')
  const printer = await printerFor(call, { formats: ['json', 'yaml'] })
  if (printer !== undefined) return host.write(printer(node as unknown as ApiObject))
  const out = new TabWriter()
  out.row(['NAME', 'READY', 'REASON', 'AGE'])
  draw(out, node, '', '')
  host.write(out.flush())
}

/** Up to the first that nobody controls, or that may not be read. */
async function topOwner(call: Call, start: Owned): Promise<Owned> {
  const [types, rest] = [await call.session.types, await call.session.rest]
  let current = start
  for (;;) {
    const owner = current.object.metadata?.ownerReferences?.find(({ controller }) => controller)
    const type = owner === undefined ? undefined : await types.ofKind(owner.apiVersion, owner.kind)
    if (owner === undefined || type === undefined) return current
    const object = await rest
      .json<ApiObject>({ path: resourcePath(type, type.isNamespaced ? (current.object.metadata?.namespace ?? '') : '', owner.name) })
      .catch(() => undefined)
    if (object === undefined) return current
    current = { object, type }
  }
}

function nodeOf(call: Call, { object, type }: Owned, owned: ReadonlyMap<string, Owned[]>, asked: string): Node {
  const uid = object.metadata?.uid ?? ''
  const children = (owned.get(uid) ?? []).toSorted((one, other) =>
    `${one.type.kind}/${one.object.metadata?.name}`.localeCompare(`${other.type.kind}/${other.object.metadata?.name}`),
  )
  return {
    kind: singularText(type),
    name: object.metadata?.name ?? '',
    ...readinessOf(object),
    age: ageOf(object.metadata?.creationTimestamp, call.host.clock.now()),
    ...omitEmpty({ isAsked: uid === asked }),
    owns: children.map((child) => nodeOf(call, child, owned, asked)),
  }
}

function draw(out: TabWriter, { kind, name, ready, reason, age, owns }: Node, branch: string, below: string): void {
  out.row([`${branch}${kind}/${name}`, ready || '-', reason, age])
  for (const [index, child] of owns.entries()) {
    const isLast = index === owns.length - 1
    draw(out, child, `${below}${isLast ? '└─' : '├─'}`, `${below}${isLast ? '  ' : '│ '}`)
  }
}
