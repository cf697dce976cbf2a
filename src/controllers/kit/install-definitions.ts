import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceConversion, V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { findCondition, isConditionTrue } from '#api/meta/find-condition.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { waitFor } from '#client/retry.ts'

export type InstallOptions = {
  clock: Clock
  /** Where versions differ and are converted by somebody. */
  conversion?: V1CustomResourceConversion
  timeoutMs?: number
  signal?: AbortSignal
}

/** Installs definitions, or brings them up to date; resolves when all are served. */
export async function installDefinitions(
  client: Client,
  resources: readonly { definition: V1CustomResourceDefinition; convert?: unknown }[],
  { clock, conversion, timeoutMs = 60_000, signal }: InstallOptions,
): Promise<void> {
  await Promise.all(
    resources.map(async ({ definition, convert }) => {
      const { metadata, spec } = definition
      const wanted = {
        metadata,
        spec: { ...spec, ...defined({ conversion: conversion && convert !== undefined ? conversion : undefined }) },
      }
      await client.apply(CustomResourceDefinition, wanted, { fieldManager: 'typernetes-operator', force: true })
      const isServed = (crd: V1CustomResourceDefinition | undefined) => {
        const refusal = findCondition(crd?.status?.conditions, 'NamesAccepted')
        if (refusal?.status === 'False') throw new Error(`the definition ${metadata.name} is not accepted: ${refusal.message}`)
        return isConditionTrue(crd?.status?.conditions, 'Established')
      }
      const waiting = { clock, timeoutMs, ...defined({ signal }) }
      await waitFor(client, CustomResourceDefinition, { name: metadata.name ?? '' }, isServed, waiting)
    }),
  )
}
