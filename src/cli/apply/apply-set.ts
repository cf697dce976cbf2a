/** `kubectl apply --prune --applyset=PARENT`: the objects of a set carry its label, and the parent tells where to look for them. */

import { createHash } from 'node:crypto'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, ManyErrors } from '#cli/cli-error.ts'
import { kubectlVersion } from '#cli/kubectl-version.ts'
import { namePrinter, printerFor } from '#cli/print/printer.ts'
import type { Info } from '#cli/resources/info.ts'
import { apiVersionOf, resourcePath } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { type DryRun, dryRunSuffix, writeQuery } from '#cli/write-options.ts'

const labels = {
  id: 'applyset.kubernetes.io/id',
  partOf: 'applyset.kubernetes.io/part-of',
  isParentType: 'applyset.kubernetes.io/is-parent-type',
}
const annotations = {
  tooling: 'applyset.kubernetes.io/tooling',
  namespaces: 'applyset.kubernetes.io/additional-namespaces',
  kinds: 'applyset.kubernetes.io/contains-group-kinds',
  resources: 'applyset.kubernetes.io/contains-group-resources',
}
const tool = 'kubectl'

/** What the set holds: kinds by `Kind.group`, and namespaces. */
type Extent = { kinds: Map<string, ResourceType>; namespaces: Set<string> }

export class ApplySet {
  readonly #call: Call
  readonly #type: ResourceType
  readonly #name: string
  readonly #namespace: string
  readonly #dryRun: DryRun
  #former: Extent = { kinds: new Map(), namespaces: new Set() }
  readonly #next: Extent = { kinds: new Map(), namespaces: new Set() }

  private constructor(call: Call, type: ResourceType, name: string, namespace: string, dryRun: DryRun) {
    this.#call = call
    this.#type = type
    this.#name = name
    this.#namespace = namespace
    this.#dryRun = dryRun
  }

  /** Of `[RESOURCE[.GROUP]/]NAME`; a secret unless said otherwise. Throws where that may be no parent. */
  static async of(call: Call, reference: string, dryRun: DryRun): Promise<ApplySet> {
    const slash = reference.indexOf('/')
    const name = reference.slice(slash + 1)
    const invalid = (message: string) => new CliError(`invalid parent reference ${JSON.stringify(reference)}: ${message}`)
    if (name === '') throw invalid('name cannot be blank')
    const word = slash < 0 ? 'secrets' : reference.slice(0, slash)
    const type = await (await call.session.types).find(word)
    if (type === undefined) {
      const [resource = '', ...group] = word.split('.')
      throw invalid(`no matches for ${group.join('.')}/, Resource=${resource}`)
    }
    const { namespace, isNamespaceGiven } = await call.session.context
    return new ApplySet(call, type, name, type.isNamespaced && isNamespaceGiven ? namespace : '', dryRun)
  }

  /** Which kinds may hold a set: secrets, config maps, and custom ones whose definition says so. */
  async validate(): Promise<void> {
    const problems: CliError[] = []
    if (this.#type.isNamespaced && this.#namespace === '')
      problems.push(new CliError('namespace is required to use namespace-scoped ApplySet'))
    if (!this.#isBuiltIn) {
      const rest = await this.#call.session.rest
      const { items } = await rest.json<{ items: ApiObject[] }>({
        path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        query: { labelSelector: labels.isParentType },
      })
      const { group, version, plural } = this.#type
      if (!items.some(({ metadata }) => metadata?.name === `${plural}.${group}`))
        problems.push(new CliError(`resource "${group}/${version}, Resource=${plural}" is not permitted as an ApplySet parent`))
    }
    if (problems.length > 0) throw problems.length === 1 ? problems[0] : new CliError(new ManyErrors(problems).message)
  }

  get #isBuiltIn(): boolean {
    return this.#type.group === '' && (this.#type.plural === 'secrets' || this.#type.plural === 'configmaps')
  }

  get #id(): string {
    const text = [this.#name, this.#namespace, this.#type.kind, this.#type.group].join('.')
    return `applyset-${createHash('sha256').update(text).digest('base64url')}-v1`
  }

  get #shown(): string {
    return JSON.stringify(`${this.#type.plural}.${this.#type.group}/${this.#name}`)
  }

  /** Each object says that it belongs to the set. */
  label(infos: readonly Info[]): void {
    for (const { object } of infos) {
      if (object.metadata?.labels?.[labels.partOf] !== undefined)
        throw new CliError(`ApplySet label ${JSON.stringify(labels.partOf)} already set in input data`)
      object.metadata = { ...object.metadata, labels: { ...object.metadata?.labels, [labels.partOf]: this.#id } }
    }
  }

  /** The parent tells of everything old and new before anything is applied: who is interrupted loses no object. */
  async begin(infos: readonly Info[]): Promise<void> {
    await this.#readParent()
    for (const { type, namespace } of infos) {
      this.#next.kinds.set(groupKind(type), type)
      if (type.isNamespaced && namespace !== '') this.#next.namespaces.add(namespace)
    }
    await this.#writeParent({
      kinds: new Map([...this.#former.kinds, ...this.#next.kinds]),
      namespaces: this.#former.namespaces.union(this.#next.namespaces),
    })
  }

  async #readParent(): Promise<void> {
    const rest = await this.#call.session.rest
    let parent: ApiObject
    try {
      parent = await rest.json<ApiObject>({ path: resourcePath(this.#type, this.#namespace, this.#name) })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (!error.isNotFound) throw new CliError(`failed to fetch ApplySet parent object ${this.#shown}: ${error.message}`)
      if (!this.#isBuiltIn) throw new CliError('custom resource ApplySet parents cannot be created automatically')
      return
    }
    const notes = parent.metadata?.annotations ?? {}
    const tooling = notes[annotations.tooling]
    if (tooling === undefined)
      throw new CliError(
        `ApplySet parent object ${this.#shown} already exists and is missing required annotation ${JSON.stringify(annotations.tooling)}`,
      )
    const owner = tooling.includes('/') ? tooling.slice(0, tooling.lastIndexOf('/')) : tooling
    if (owner !== tool)
      throw new CliError(
        `ApplySet parent object ${this.#shown} already exists and is managed by tooling ${JSON.stringify(owner)} instead of ${JSON.stringify(tool)}`,
      )
    const id = parent.metadata?.labels?.[labels.id]
    if (id === undefined) throw new CliError(`ApplySet parent object ${this.#shown} exists and does not have required label ${labels.id}`)
    if (id !== this.#id)
      throw new CliError(
        `ApplySet parent object ${this.#shown} exists and has incorrect value for label ${JSON.stringify(labels.id)} (got: ${id}, want: ${this.#id})`,
      )
    this.#former = {
      kinds: await this.#kindsIn(notes),
      namespaces: new Set((notes[annotations.namespaces] ?? '').split(',').filter(Boolean)),
    }
    if (this.#type.isNamespaced) this.#former.namespaces.add(this.#namespace)
  }

  async #kindsIn(notes: Readonly<Record<string, string>>): Promise<Map<string, ResourceType>> {
    const failure = (message: string) => new CliError(`parsing ApplySet annotation on ${this.#shown}: ${message}`)
    const [kinds, resources] = [notes[annotations.kinds], notes[annotations.resources]]
    if (kinds === undefined && !resources)
      throw failure(`kubectl requires the ${JSON.stringify(annotations.kinds)} annotation to be set on all ApplySet parent objects`)
    const types = await this.#call.session.types
    const found = new Map<string, ResourceType>()
    for (const text of (kinds ?? resources ?? '').split(',').filter(Boolean)) {
      const type = await types.find(text)
      if (type === undefined) {
        const [name = '', ...group] = text.split('.')
        throw failure(
          kinds === undefined
            ? `invalid group resource in ${JSON.stringify(annotations.resources)} annotation: no matches for ${group.join('.')}/, Resource=${name}`
            : `could not find mapping for kind in ${JSON.stringify(annotations.kinds)} annotation: no matches for kind "${name}" in group "${group.join('.')}"`,
        )
      }
      found.set(groupKind(type), type)
    }
    return found
  }

  async #writeParent({ kinds, namespaces }: Extent): Promise<void> {
    if (this.#dryRun === 'client') return
    const rest = await this.#call.session.rest
    const others = [...namespaces].filter((each) => each !== this.#namespace).sort()
    const body = {
      kind: this.#type.kind,
      apiVersion: apiVersionOf(this.#type),
      metadata: {
        name: this.#name,
        ...omitEmpty({ namespace: this.#namespace }),
        labels: { [labels.id]: this.#id },
        annotations: {
          [annotations.namespaces]: others.join(','),
          [annotations.kinds]: [...kinds.keys()].sort().join(','),
          [annotations.tooling]: `${tool}/${kubectlVersion}`,
        },
      },
    }
    const send = (force: boolean) =>
      rest.json({
        method: 'PATCH',
        path: resourcePath(this.#type, this.#namespace, this.#name),
        contentType: 'application/apply-patch+yaml',
        query: { ...writeQuery(this.#call, this.#dryRun), fieldManager: `${tool}-applyset`, force: String(force) },
        body,
      })
    try {
      try {
        await send(false)
      } catch (error) {
        if (!(error instanceof ApiError && error.isConflict)) throw error
        await send(true)
      }
    } catch (error) {
      throw error instanceof ApiError ? new CliError(`failed to update ApplySet: ${error.message}`) : error
    }
  }

  /** What belongs to the set and was not applied now goes; then the parent tells of what is left. */
  async prune(applied: readonly Info[]): Promise<void> {
    const { flags, host, session } = this.#call
    const rest = await session.rest
    const uids = new Set(applied.map(({ object }) => object.metadata?.uid))
    const printer =
      (flags.text('output') === 'name' ? namePrinter() : await printerFor(this.#call)) ??
      namePrinter({ operation: 'pruned', suffix: dryRunSuffix(this.#dryRun) })
    const places = [...this.#former.kinds.values()].flatMap((type) =>
      (type.isNamespaced ? [...this.#former.namespaces] : ['']).map((namespace) => ({ type, namespace })),
    )
    const members = await Promise.all(
      places.map(async ({ type, namespace }) => {
        const path = resourcePath(type, namespace)
        const list = await rest
          .json<{ items: ApiObject[] }>({ path, query: { labelSelector: `${labels.partOf}=${this.#id}` } })
          .catch((error: Error) => {
            throw new CliError(`listing ${apiVersionOf(type)}, Kind=${type.kind} objects for pruning: ${error.message}`)
          })
        return list.items.filter(({ metadata }) => !uids.has(metadata?.uid)).map((object) => ({ type, namespace, object }))
      }),
    )
    for (const { type, namespace, object } of members.flat()) {
      const shown: ApiObject = { ...object, kind: type.kind, apiVersion: apiVersionOf(type) }
      if (this.#dryRun !== 'client') {
        const body = { propagationPolicy: 'Background', ...defined({ dryRun: this.#dryRun === 'server' ? ['All'] : undefined }) }
        await rest
          .json({ method: 'DELETE', path: resourcePath(type, namespace, object.metadata?.name ?? ''), body })
          .catch((error: Error) => {
            if (error instanceof ApiError && error.isNotFound) return
            throw new CliError(
              `pruning ${groupKind(type)} ${namespace === '' ? '' : `${namespace}/`}${object.metadata?.name}: ${error.message}`,
            )
          })
      }
      host.write(printer(shown))
    }
    try {
      await this.#writeParent(this.#next)
    } catch (error) {
      throw error instanceof CliError ? new CliError(`apply and prune succeeded, but ApplySet update failed: ${error.message}`) : error
    }
  }
}

const groupKind = ({ kind, group }: ResourceType): string => (group === '' ? kind : `${kind}.${group}`)
