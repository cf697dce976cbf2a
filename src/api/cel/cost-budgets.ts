/** What CEL may cost at run time, in upstream's units of cost. One process has one answer: it is set before anything is evaluated. */
export const celBudgets = {
  /** Of one expression. */
  perCall: 1_000_000,
  /** Of all expressions of one policy, or of one object of a custom resource, in one request. */
  perRequest: 10_000_000,
}
