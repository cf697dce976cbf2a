import { celBudgets } from '#api/cel/cost-budgets.ts'
import { defaultLimits, type FairUseLimits } from '#apiserver/fair-use/limits.ts'
import { defineOptions, list, type OptionValues, onOff, text, wholeNumber } from '#base/options.ts'
import { checkAmount } from '#cmd/check-values.ts'

/** An amount as a number of bytes. */
type BytesOf = (amount: string) => number

const count = (help: string, value: number) => wholeNumber(`${help} (0: no limit)`, { placeholder: 'N', default: value })

/** What one client may ask of the API server; docs/fair-use.md tells more. */
export const fairUseOptions = defineOptions({
  maxBodySize: text('the largest body a request may have', { placeholder: 'AMOUNT', default: '3Mi', check: checkAmount }),
  maxBodySizeOf: list('the same for some resources: secrets=256Ki,widgets.example.com=1Mi', {
    placeholder: 'RESOURCE=AMOUNT',
    default: [],
  }),
  maxEntries: wholeNumber('how many entries a list or map of an object may have', {
    placeholder: 'N',
    default: defaultLimits.entries.inOne,
    min: 1,
  }),
  maxEntriesTotal: wholeNumber('how many entries all lists and maps of an object may have', {
    ...{ placeholder: 'N', default: defaultLimits.entries.inAll, min: 1 },
  }),
  maxObjectsPerNamespace: count('how many objects of a resource a namespace may hold', defaultLimits.objectsPerNamespace),
  maxWatchesPerClient: count('how many watches a user may have open', defaultLimits.watchesPerClient),
  maxConnectionsPerClient: count('how many connections an address may have open', defaultLimits.connectionsPerClient),
  maxListItems: count('how many items a list may have that is not asked for in pages', defaultLimits.listItems),
  celCallBudget: wholeNumber('what one CEL expression may cost at run time', { placeholder: 'N', default: celBudgets.perCall, min: 1 }),
  celRequestBudget: wholeNumber('what all CEL expressions of a policy or an object may cost in a request', {
    ...{ placeholder: 'N', default: celBudgets.perRequest, min: 1 },
  }),
  measuredCosts: onOff('requests of clients that have held up others take more seats in priority and fairness', { default: true }),
})

/** `bytesOf` comes with the rest of the server, which those who only ask for help do not load. */
export function fairUseLimits(options: OptionValues<typeof fairUseOptions>, bytesOf: BytesOf): FairUseLimits {
  return {
    bodyBytes: bytesOf(options.maxBodySize),
    bodyBytesOf: Object.fromEntries(options.maxBodySizeOf.map((text) => bodySizeOf(text, bytesOf))),
    entries: { inOne: options.maxEntries, inAll: options.maxEntriesTotal },
    objectsPerNamespace: options.maxObjectsPerNamespace,
    watchesPerClient: options.maxWatchesPerClient,
    connectionsPerClient: options.maxConnectionsPerClient,
    listItems: options.maxListItems,
    measuresCost: options.measuredCosts,
  }
}

function bodySizeOf(text: string, bytesOf: BytesOf): [string, number] {
  const [resource = '', amount = ''] = text.split('=')
  if (resource === '' || !/^\d/.test(amount)) throw new Error(`--max-body-size-of: ${text} is not of the form RESOURCE=AMOUNT`)
  return [resource, bytesOf(amount)]
}
