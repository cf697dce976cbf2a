/** Amounts such as `1Gi`. */
import { bool, double, int, string, struct } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { CelError, CelObject, type Value } from '#api/cel/values/value.ts'
import { isQuantity, parseQuantity, type Quantity, quantityOf } from '#api/meta/quantity.ts'

export const quantityType = struct('kubernetes.Quantity')

export class QuantityValue extends CelObject {
  override readonly type = quantityType
  readonly quantity: Quantity

  constructor(quantity: Quantity) {
    super()
    this.quantity = quantity
  }
  override equals(other: Value): boolean {
    return other instanceof QuantityValue && this.quantity.equals(other.quantity)
  }
}

const quantity = (value: Value | undefined): Quantity => (value as QuantityValue).quantity
const minInt64 = -(2n ** 63n)
const maxInt64 = 2n ** 63n - 1n

/** Undefined for fractions, and for what an int64 does not hold. */
function asInteger(value: Quantity): bigint | undefined {
  if (!value.isInteger || value.scale > 19) return undefined
  const whole = value.scale >= 0 ? value.mantissa * 10n ** BigInt(value.scale) : value.mantissa / 10n ** BigInt(-value.scale)
  return whole < minInt64 || whole > maxInt64 ? undefined : whole
}

function parsed(text: string): QuantityValue {
  try {
    return new QuantityValue(parseQuantity(text))
  } catch (error) {
    throw new CelError((error as Error).message)
  }
}

const both = [quantityType, quantityType]

export const quantityLibrary: readonly FunctionDeclaration[] = [
  declare(
    'quantity',
    plain('string_to_quantity', [string], quantityType, (text) => parsed(text as string)),
  ),
  declare(
    'isQuantity',
    plain('is_quantity_string', [string], bool, (text) => isQuantity(text as string)),
  ),
  declare(
    'sign',
    plain('quantity_sign', [quantityType], int, (value) => BigInt(quantity(value).sign)),
  ),
  declare(
    'isGreaterThan',
    member('quantity_is_greater_than', both, bool, (one, other) => quantity(one).compare(quantity(other)) > 0),
  ),
  declare(
    'isLessThan',
    member('quantity_is_less_than', both, bool, (one, other) => quantity(one).compare(quantity(other)) < 0),
  ),
  declare(
    'compareTo',
    member('quantity_compare_to', both, int, (one, other) => BigInt(quantity(one).compare(quantity(other)))),
  ),
  declare(
    'asApproximateFloat',
    member('quantity_get_float', [quantityType], double, (value) => quantity(value).toNumber()),
  ),
  declare(
    'asInteger',
    member('quantity_get_int', [quantityType], int, (value) => {
      const whole = asInteger(quantity(value))
      if (whole === undefined) throw new CelError('cannot convert value to integer')
      return whole
    }),
  ),
  declare(
    'isInteger',
    member('quantity_is_integer', [quantityType], bool, (value) => asInteger(quantity(value)) !== undefined),
  ),
  declare(
    'add',
    member('quantity_add', both, quantityType, (one, other) => new QuantityValue(quantity(one).add(quantity(other)))),
    member(
      'quantity_add_int',
      [quantityType, int],
      quantityType,
      (one, other) => new QuantityValue(quantity(one).add(quantityOf(other as bigint))),
    ),
  ),
  declare(
    'sub',
    member('quantity_sub', both, quantityType, (one, other) => new QuantityValue(quantity(one).sub(quantity(other)))),
    member(
      'quantity_sub_int',
      [quantityType, int],
      quantityType,
      (one, other) => new QuantityValue(quantity(one).sub(quantityOf(other as bigint))),
    ),
  ),
]
