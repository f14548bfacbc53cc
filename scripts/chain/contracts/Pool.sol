// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

interface IFeed {
    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80);
}

interface IWeth {
    function withdraw(uint256 wad) external;
}

/// What the local settler trades with: takes what is sold and pays out of its own reserves at the feeds' price.
contract Pool {
    using SafeERC20 for IERC20;

    error WrongValue(uint256 value, uint256 expected);
    error NoPrice();
    error EtherRefused();

    /// What swap providers write for ether.
    address private constant NATIVE = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;
    address private constant WETH = 0x4200000000000000000000000000000000000006;
    address private constant USDC = 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913;
    address private constant USDT = 0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2;
    address private constant DAI = 0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb;
    address private constant CBBTC = 0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf;

    address private constant ETH_USD = 0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70;
    address private constant BTC_USD = 0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F;
    address private constant USDC_USD = 0x7e860098F58bBFC8648a4311b374B1D669a2bc6B;
    address private constant USDT_USD = 0xf19d560eB8d2ADf07BD6D13ed03e1D11215721F9;
    address private constant DAI_USD = 0x591e79239a7d679378eC8c847e5038150364C78F;

    uint256 private constant FEE_BPS = 15;

    /// Ether comes from unwrapping; anybody else's would be lost here.
    receive() external payable {
        if (msg.sender != WETH) revert EtherRefused();
    }

    /// Takes what is sold from the sender, by an allowance or as ether, and pays the sender.
    function swap(address sellToken, uint256 sellAmount, address buyToken) external payable {
        uint256 expected = sellToken == NATIVE ? sellAmount : 0;
        if (msg.value != expected) revert WrongValue(msg.value, expected);
        if (sellToken != NATIVE) IERC20(sellToken).safeTransferFrom(msg.sender, address(this), sellAmount);
        (uint256 amount, ) = quote(sellToken, buyToken, sellAmount);
        if (amount == 0) revert NoPrice();
        _pay(buyToken, msg.sender, amount);
    }

    /// What a sale yields at this moment, and the fee already taken off it. Zero without a price.
    function quote(
        address sellToken,
        address buyToken,
        uint256 sellAmount
    ) public view returns (uint256 buyAmount, uint256 fee) {
        (uint256 sellPrice, uint256 sellUnit) = _priced(sellToken);
        (uint256 buyPrice, uint256 buyUnit) = _priced(buyToken);
        if (sellPrice == 0 || buyPrice == 0) return (0, 0);
        uint256 gross = (sellAmount * sellPrice * buyUnit) / (buyPrice * sellUnit);
        fee = (gross * FEE_BPS) / 10_000;
        buyAmount = gross - fee;
    }

    function _pay(address token, address recipient, uint256 amount) private {
        if (token != NATIVE) {
            IERC20(token).safeTransfer(recipient, amount);
            return;
        }
        uint256 held = address(this).balance;
        if (held < amount) IWeth(WETH).withdraw(amount - held);
        (bool paid, bytes memory reason) = recipient.call{value: amount}("");
        if (!paid) {
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    function _priced(address token) private view returns (uint256 price, uint256 unit) {
        if (token == NATIVE || token == WETH) return (_answer(ETH_USD), 1e18);
        if (token == USDC) return (_answer(USDC_USD), 1e6);
        if (token == USDT) return (_answer(USDT_USD), 1e6);
        if (token == DAI) return (_answer(DAI_USD), 1e18);
        if (token == CBBTC) return (_answer(BTC_USD), 1e8);
    }

    function _answer(address feed) private view returns (uint256) {
        (, int256 answer, , , ) = IFeed(feed).latestRoundData();
        return answer > 0 ? uint256(answer) : 0;
    }
}
