import { eventResource as coreEvent } from '#api/core/v1/event.ts'
import { fromCoreEvent, toCoreEvent } from '#api/events/v1/convert-event.ts'
import { Event } from '#api/events/v1/kinds.gen.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

const { source: _source, ...coreSelectors } = coreEvent.fieldSelectors ?? {}
const newName = (field: string): string =>
  field.replace('involvedObject.', 'regarding.').replace('reportingComponent', 'reportingController')

/** Selectors read the stored event, which has the same facts under the names of the core group. */
export const eventSelectors = Object.fromEntries(
  Object.entries(coreSelectors).map(([field, read]) => [newName(field), read as unknown as (event: V1Event) => string]),
)

/** Shares one place in the store with the events of the core group, whose rules are stricter with what comes this way. */
export const eventResource = defineResource(Event, {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Unsupported',
  storedAs: { definition: coreEvent, toStored: toCoreEvent, fromStored: fromCoreEvent },

  fieldSelectors: eventSelectors,
})
