package futures_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wheellock/wheellock/futures"
)

func ExampleFuture_Then() {
	promise := futures.New[string](nil, nil)
	printed := promise.Future().Then(func(name string, err error) {
		fmt.Println("granted:", name, err)
	})

	promise.Settle("stock:7", nil)
	name, err := printed.Wait(context.Background()) // after the callback returned
	fmt.Println("waited for:", name, err)
	// Output:
	// granted: stock:7 <nil>
	// waited for: stock:7 <nil>
}

func ExampleFuture_Cancel() {
	promise := futures.New[string](nil, nil)
	fmt.Println("cancelled:", promise.Future().Cancel())
	fmt.Println("settled:", promise.Settle("stock:7", nil)) // false: the settler keeps what it was about to give

	_, err := promise.Future().Result()
	fmt.Println(err)
	// Output:
	// cancelled: true
	// settled: false
	// context canceled
}

func ExampleMap() {
	price := futures.Settled(nil, 1250, nil)
	label := futures.Map(price, func(cents int, err error) (string, error) {
		if err != nil {
			return "", fmt.Errorf("labelling: %w", err)
		}
		return fmt.Sprintf("%d.%02d", cents/100, cents%100), nil
	})
	fmt.Println(label.Wait(context.Background()))
	// Output: 12.50 <nil>
}

func ExampleAll() {
	left, right := futures.New[int](nil, nil), futures.New[int](nil, nil)
	both := futures.All(left.Future(), right.Future())

	right.Settle(2, nil)
	_, err := both.Result()
	fmt.Println(err)

	left.Settle(1, errors.New("left is only a guess"))
	fmt.Println(both.Result()) // the values also with an error
	// Output:
	// futures: pending
	// [1 2] left is only a guess
}
