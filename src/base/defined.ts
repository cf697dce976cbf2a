type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The fields that have a value: `{ name, ...defined({ uid }) }` leaves `uid` out where it is undefined. */
export function defined<T extends object>(fields: T): Defined<T> {
  const result: Defined<T> = {}
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) result[name] = value as Exclude<T[typeof name], undefined>
  }
  return result
}
